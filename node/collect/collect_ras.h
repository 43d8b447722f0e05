// Queries NCCL's RAS service of the ranks of this node, and joins its answer to their processes.
//
// It connects only to a socket on which a rank itself listens at the service's configured or
// default port. Call it before any thread is stopped.
#pragma once

#include <chrono>

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

}  // namespace oddrank::node
