// Reads dumps of flight recorders into a capture: from the files that PyTorch writes, from the
// ranks themselves, and from files that the user names.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "snapshot/capture.h"

namespace oddrank::node {

// Reads the dump of every rank of this node, also inside its container, from the places in its
// variables (collectives/flight/flight_paths.h): on request if the rank supports it (live_dump.h),
// else the newest file that is not older than the process. Most ranks have no dump. Each rank has a
// child and a deadline; failures become notes. Precondition: one thread (it forks).
void collect_dumps(snapshot::Capture& capture, std::chrono::milliseconds timeout);

// Reads dumps from files, folders and patterns for ranks that have none yet; with `all`, also dumps
// of ranks that are not in the capture. Uses a child with a deadline, as above.
void add_given_dumps(snapshot::Capture& capture,
                     const std::vector<std::string>& patterns,
                     bool all,
                     std::chrono::milliseconds timeout);

// Adds the flight records and notes that a child has found to the capture and its node.
void take_over_records(const snapshot::Capture& from,
                       std::uint32_t node,
                       snapshot::Capture& capture);

}  // namespace oddrank::node
