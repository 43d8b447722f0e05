// Copies of the stacks of stopped threads, so that they can be let go at once and unwound at
// leisure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "attach/target.h"

namespace oddrank::stacks {

struct CopiedMemory {
  std::uint64_t address = 0;
  std::vector<std::byte> bytes;
};

// Of one thread: the stack that it is on, from its stack pointer (and the red zone below) to the
// top of the mapping, and, where that is an alternate signal stack, its own stack as well. What
// could not be read, or is beyond the bounds, is not there.
using StackCopy = std::vector<CopiedMemory>;

// In the order of `threads`, in two calls of read_many. All of them need registers. Bounded by
// 1 MiB a stack and 16 MiB for all together.
std::vector<StackCopy> copy_stacks(const attach::Target& target,
                                   std::span<const attach::ThreadState* const> threads);

}  // namespace oddrank::stacks
