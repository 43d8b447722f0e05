// Counts the collectives that a process has launched, from NCCL's own counts in its memory. The RAS
// service returns the same numbers, but every rank of the job has to work for each answer.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

namespace oddrank::node {

// Returns the sum over its communicators; a smaller sum than before means that one of them is gone.
// nullopt: it has no NCCL, or one whose counts cannot be read (collectives/nccl/nccl_memory.h).
// Opens the library's file, which may block: call it in a child.
std::optional<std::uint64_t> count_launches(pid_t pid);

}  // namespace oddrank::node
