// How many collectives a process has launched, by NCCL's own counts in its memory. Its RAS service
// tells the same numbers, but each answer has every rank of the job do something.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

namespace oddrank::node {

// The sum over its communicators; less than before means that one of them is gone. nullopt: it has
// no NCCL, or one whose counts cannot be read (collectives/sources/nccl_memory.h). Opens the
// library's file: call it in a child.
std::optional<std::uint64_t> count_launches(pid_t pid);

}  // namespace oddrank::node
