// Asks NCCL's RAS service of the ranks of this node, and joins its answer to their processes.
//
// Only a socket that a rank itself has open for listening, at the service's configured or default
// port, is spoken to; nothing else of the rank is tried. To be asked before any thread is stopped.
#pragma once

#include <chrono>

#include "snapshot/capture.h"

namespace oddrank::node {

// Fills Capture::collectives.ras with the members on this node and those that the service misses.
// No service is the normal case; trouble with one becomes a note. In a child with a deadline; takes
// some milliseconds where all answer, up to ten seconds where a rank is stopped. Precondition: one
// thread (it forks).
void collect_ras(snapshot::Capture& capture, std::chrono::milliseconds timeout);

// The second question: fills RasRank::later. Not asked where the version has crashed jobs that were
// asked too often (up to 2.27), nor where nobody answered the first.
void collect_ras_again(snapshot::Capture& capture, std::chrono::milliseconds timeout);

}  // namespace oddrank::node
