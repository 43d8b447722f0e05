// Reads which ranks have come to the creation of a communicator, from the stack of NCCL's bootstrap
// root: the thread that accepts connections from all members. No thread is stopped: it sleeps in
// accept(), and its variables are in its frame (NcclRootLayout).
//
// What is read counts only if it agrees with itself: compilers give other frames to other builds.
// On aarch64 it never does. Source: NCCL, src/bootstrap.cc (bootstrapRoot), 2.26 to 2.32.
#pragma once

#include <sys/types.h>

#include <span>
#include <vector>

#include "attach/target.h"
#include "collectives/nccl/nccl_memory.h"
#include "snapshot/connection.h"
#include "snapshot/tables.h"

namespace oddrank::collectives {

// Returns what those of the threads that are roots have noted. A root to which nobody has come, or
// of more than 4096 members, is left out; so is everything of an unknown version.
std::vector<snapshot::BootstrapRoot> read_nccl_roots(const attach::Target& target,
                                                     const NcclVariables& variables,
                                                     std::span<const pid_t> threads,
                                                     snapshot::Tables& tables);

}  // namespace oddrank::collectives
