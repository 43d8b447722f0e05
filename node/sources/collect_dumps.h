// Dumps of flight recorders into a capture: those of its ranks, from where PyTorch writes them or
// from the ranks themselves; and those that the user names.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "snapshot/capture.h"

namespace oddrank::node {

// For every rank of this node, as its variables say (collectives/sources/flight_paths.h), also
// inside of its container: its answer, if it can be asked (live_dump.h), else the newest file that
// is not older than the process. Found nothing is the normal case. Each rank has a child and a
// deadline; what went wrong becomes a note. Precondition: one thread (it forks).
void collect_dumps(snapshot::Capture& capture, std::chrono::milliseconds timeout);

// Of the files, folders and patterns, the dumps of ranks that have none yet; with `all` also of
// ranks that are not in the capture. In a child with a deadline, as above.
void add_given_dumps(snapshot::Capture& capture,
                     const std::vector<std::string>& patterns,
                     bool all,
                     std::chrono::milliseconds timeout);

}  // namespace oddrank::node
