// Reads the flight recorders of the ranks of this node from their memory, for which nothing has to
// be armed. This stops no thread and needs no answer.
#pragma once

#include <chrono>
#include <cstddef>

#include "snapshot/capture.h"

namespace oddrank::node {

// Adds a record (FlightRecord::from_memory) for each rank whose recorder holds calls. A rank
// without one is normal; what does not fit becomes one note. Each rank has a child with a deadline.
// `newest`: how many calls of each group are kept; 0: all. Call it after the samples, so that a
// call that a record shows as open was open during them. Precondition: one thread (it forks).
void collect_recorders(snapshot::Capture& capture,
                       std::size_t newest,
                       std::chrono::milliseconds timeout);

}  // namespace oddrank::node
