// Reads dumps of flight recorders into a capture: those of its ranks, from the files that PyTorch
// writes or from the ranks themselves; and those that the user names.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "snapshot/capture.h"

namespace oddrank::node {

// Reads the dump of every rank of this node, also inside of its container, as its variables say
// (collectives/sources/flight_paths.h): its answer, if it can be asked (live_dump.h), else the
// newest file that is not older than the process. Most ranks have no dump. Each rank has a child
// and a deadline; what went wrong becomes a note. Precondition: one thread (it forks).
void collect_dumps(snapshot::Capture& capture, std::chrono::milliseconds timeout);

// Reads, from the files, folders and patterns, the dumps of ranks that have none yet; with `all`
// also those of ranks that are not in the capture. Uses a child with a deadline, as above.
void add_given_dumps(snapshot::Capture& capture,
                     const std::vector<std::string>& patterns,
                     bool all,
                     std::chrono::milliseconds timeout);

}  // namespace oddrank::node
