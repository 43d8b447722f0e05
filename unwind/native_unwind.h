// Native stacks of a target's threads from memory alone: libunwind over copied stacks and mapped
// files, no ptrace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "attach/kept_word.h"
#include "attach/target.h"
#include "elf/elf_range.h"
#include "elf/module_map.h"
#include "snapshot/stack.h"
#include "unwind/stack_copy.h"

namespace oddrank::unwind {

// Words of its part of the stack that are kept of one frame.
inline constexpr std::size_t kMaxKeptWords = 192;

struct NativeFrame {
  std::uint64_t pc = 0;    // absolute; in outer frames the return address
  std::uint64_t cfa = 0;   // canonical frame address; orders native frames relative to others
  std::uint8_t flags = 0;  // snapshot::FrameFlag
  int signal = 0;          // of a signal frame: which one was delivered; 0 = unknown
  std::vector<attach::KeptWord> words = {};  // only of code for which keep_words() was asked
};

struct NativeStack {
  std::vector<NativeFrame> frames;  // innermost first
  snapshot::StackEnd end = snapshot::StackEnd::kUnknown;
  // The stack ends here because the next step needs a register that only a stop can provide. Not
  // set where no table says what the register is for: a stop would make the stack no longer.
  bool needs_registers = false;
};

class NativeUnwinder {
 public:
  // Both must outlive the unwinder. One unwinder serves all threads of a target: caches are shared.
  NativeUnwinder(const attach::Target& target, elf::ModuleMap& modules);
  ~NativeUnwinder();
  NativeUnwinder(const NativeUnwinder&) = delete;
  NativeUnwinder& operator=(const NativeUnwinder&) = delete;
  NativeUnwinder(NativeUnwinder&&) = delete;
  NativeUnwinder& operator=(NativeUnwinder&&) = delete;

  // From now on, keeps the words of frames whose code lies in one of these ranges: registers first.
  void keep_words(std::vector<elf::ElfRange> code);

  // Unwinds a thread that was blocked when its registers were read. At most `limit` frames.
  NativeStack unwind(const attach::ThreadState& thread, std::size_t limit = 4096);
  // Unwinds a thread that was stopped; it may be running again.
  NativeStack unwind(const attach::ThreadState& thread,
                     const StackCopy& copy,
                     std::size_t limit = 4096);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace oddrank::unwind
