// Queries NCCL's RAS service of the ranks of this node, and joins its answer to their processes.
//
// It connects only to a socket on which a rank itself listens at the service's configured or
// default port. Call it before any thread is stopped.
//
// Makes rows of a capture from the communicators in NCCL's RAS service or memory.
#pragma once

#include <chrono>

#include "collectives/nccl/ras_answer.h"
#include "snapshot/capture.h"

namespace oddrank::node {

// Fills Capture::collectives.ras with the members on this node and those that the service reports
// missing. A node without the service is normal; failures become a note. Runs in a child, within
// `timeout`; takes some milliseconds if all ranks answer, up to ten seconds if one is stopped.
// Precondition: one thread (it forks).
void collect_ras(snapshot::Capture& capture, std::chrono::milliseconds timeout);

// Queries a second time and fills RasRank::later. Does nothing if the version may crash the job
// when queried too often (up to 2.27), or if no service answered the first time.
void collect_ras_again(snapshot::Capture& capture, std::chrono::milliseconds timeout);

// Returns the row of a communicator, without its members. `tables`: of the capture.
snapshot::RasCommunicator communicator_row(const collectives::RasAnswer& answer,
                                           const collectives::RasGroup& group,
                                           snapshot::Tables& tables);

// Returns the row of a member; the caller fills in its process and host.
snapshot::RasRank member_row(const collectives::RasMember& member);

// Adds the communicators of one capture to another's.
void carry_communicators(const snapshot::Capture& from, snapshot::Capture& into);

}  // namespace oddrank::node
