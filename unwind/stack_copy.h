// Copies of the stacks of stopped threads, so that the threads can continue at once and the copies
// are unwound later.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "attach/target.h"

namespace oddrank::unwind {

struct CopiedMemory {
  std::uint64_t address = 0;
  std::vector<std::byte> bytes;
};

// The copy of one thread: its current stack, from the stack pointer (and the red zone below) to the
// top of the mapping; if that is an alternate signal stack, its own stack as well. Parts that could
// not be read, or are beyond the limits, are missing.
using StackCopy = std::vector<CopiedMemory>;

class StackCopier {
 public:
  // Touches its memory, so construct it before the stop: otherwise the threads would wait for page
  // faults. It copies at most `threads` stacks.
  explicit StackCopier(std::size_t threads);

  // Copies the stacks in the order of `threads`, in two calls of read_many; call it once. All
  // threads need registers. Limits: 1 MiB for each stack and 2 MiB for all, or 16 KiB for each
  // stack if there are very many.
  std::vector<StackCopy> copy(const attach::Target& target,
                              std::span<const attach::ThreadState* const> threads);

 private:
  struct Range {
    std::size_t thread = 0;
    std::uint64_t start = 0;
    std::uint64_t size = 0;
  };
  Range from_stack_pointer(std::size_t thread,
                           std::uint64_t stack_pointer,
                           const attach::Mapping* mapping) const;
  std::vector<std::byte> take_buffer(std::uint64_t size);
  void read_ranges(const attach::Target& target,
                   const std::vector<Range>& ranges,
                   std::vector<StackCopy>& copies);

  std::uint64_t most_;  // bytes for each stack
  std::vector<std::vector<std::byte>> buffers_;
};

}  // namespace oddrank::unwind
