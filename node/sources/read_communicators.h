// Reads the communicators of a process from NCCL's memory: finds the list of them by the symbols of
// the process's libnccl.so, and reads it (collectives/sources/nccl_memory.h).
#pragma once

#include "attach/target.h"
#include "base/result.h"
#include "collectives/sources/ras_answer.h"

namespace oddrank::node {

// Returns the communicators as RAS would. kNotFound: the process has no libnccl.so, or one that
// keeps no list (before 2.24). kUnsupported: its library has no symbols, has no version in its
// constants, or has an unknown layout. kBadData: the list does not look like communicators. Opens
// the library's file, which may block.
Result<collectives::RasAnswer> read_communicators(const attach::Target& target);

}  // namespace oddrank::node
