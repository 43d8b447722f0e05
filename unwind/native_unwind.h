// Native stacks of a target's threads from memory alone: libunwind over copied stacks and mapped
// files, no ptrace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "attach/target.h"
#include "elf/elf_range.h"
#include "elf/module_map.h"
#include "unwind/native_stack.h"
#include "unwind/stack_copy.h"

namespace oddrank::unwind {

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
