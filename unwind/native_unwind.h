// Native stacks of a target's threads from memory alone: libunwind over copied stacks and mapped
// files, no ptrace.
//
// The native frames of one thread as unwound: addresses, no names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "attach/address.h"
#include "attach/target.h"
#include "elf/elf_range.h"
#include "elf/module_map.h"
#include "snapshot/frame.h"
#include "unwind/stack_copy.h"

namespace oddrank::unwind {

// How many words of a frame's part of the stack are kept.
inline constexpr std::size_t kMaxKeptWords = 192;

struct NativeFrame {
  std::uint64_t pc = 0;    // absolute; in outer frames the return address
  std::uint64_t cfa = 0;   // canonical frame address; orders native frames relative to others
  std::uint8_t flags = 0;  // snapshot::FrameFlag
  int signal = 0;          // in a signal frame: which signal was delivered; 0 = unknown
  std::vector<attach::PreservedValue> words = {};  // only for the code of keep_words()
};

struct NativeStack {
  std::vector<NativeFrame> frames;  // innermost first
  snapshot::StackEnd end = snapshot::StackEnd::kUnknown;
  // The stack ends here because the next step needs a register that only a stop can provide. Not
  // set if the code has no table: then a stop would not help.
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

  // From now on, keeps the words of frames whose code is in one of these ranges: registers first.
  void keep_words(std::vector<elf::ElfRange> code);

  // Unwinds a thread that was blocked when its registers were read. At most `limit` frames.
  NativeStack unwind(const attach::ThreadState& thread, std::size_t limit = 4096);
  // Unwinds threads that were blocked when their registers were read; results are in the same
  // order. A thread at the same place as another one costs little (known_walk.h).
  std::vector<NativeStack> unwind_all(std::span<const attach::ThreadState* const> threads,
                                      std::size_t limit = 4096);
  // Unwinds a thread that was stopped; it may be running again.
  NativeStack unwind(const attach::ThreadState& thread,
                     const StackCopy& copy,
                     std::size_t limit = 4096);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace oddrank::unwind
