// Reads the communicators of a process from NCCL's memory: finds the list of them by the symbols of
// the process's libnccl.so, and reads it (collectives/nccl/nccl_memory.h).
#pragma once

#include "attach/target.h"
#include "base/result.h"
#include "collectives/nccl/nccl_memory.h"
#include "collectives/nccl/ras_answer.h"

namespace oddrank::node {

// Finds what is known of the variables of the process's libnccl.so, by its symbols. kNotFound: the
// process has no libnccl.so. kUnsupported: the library has no version in its constants. Opens the
// library's file, which may block.
Result<collectives::NcclVariables> find_nccl_variables(const attach::Target& target);

// Returns the communicators as RAS would. kNotFound: the library keeps no list of them (before
// 2.24). kUnsupported: it has no symbols, or an unknown layout. kBadData: the list does not look
// like communicators.
Result<collectives::RasAnswer> read_communicators(const attach::Target& target,
                                                  const collectives::NcclVariables& variables);

}  // namespace oddrank::node
