// Asks NCCL's RAS service of the ranks of this node, and joins its answer to their processes.
//
// It connects only to a socket on which a rank itself listens at the service's configured or
// default port. To be called before any thread is stopped.
#pragma once

#include <chrono>

#include "snapshot/capture.h"

namespace oddrank::node {

// Fills Capture::collectives.ras with the members on this node and those that the service misses.
// A node without the service is normal; trouble with one becomes a note. Runs in a child, within
// `timeout`; takes some milliseconds if all ranks answer, up to ten seconds if one is stopped.
// Precondition: one thread (it forks).
void collect_ras(snapshot::Capture& capture, std::chrono::milliseconds timeout);

// Asks a second time and fills RasRank::later. Does nothing if the version has crashed jobs that
// were asked too often (up to 2.27), or if no service answered the first time.
void collect_ras_again(snapshot::Capture& capture, std::chrono::milliseconds timeout);

}  // namespace oddrank::node
