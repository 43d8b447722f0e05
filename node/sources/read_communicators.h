// The communicators of a process out of NCCL's memory: where its list of them lies, by the symbols
// of the process's libnccl.so, and what it holds (collectives/sources/nccl_memory.h).
#pragma once

#include "attach/target.h"
#include "base/result.h"
#include "collectives/sources/ras_answer.h"

namespace oddrank::node {

// kNotFound: the process has no libnccl.so, or one that keeps no list (before 2.24). kUnsupported:
// its library has no symbols, does not say its version, or is laid out in a way that is not known.
// kBadData: what is there does not look like communicators. Opens the library's file.
Result<collectives::RasAnswer> read_communicators(const attach::Target& target);

}  // namespace oddrank::node
