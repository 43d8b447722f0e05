// The calls of ranks that wait for their devices, if no recorder has them (older versions of
// PyTorch have theirs off by default): the group's own count is the number of the newest call.
#pragma once

#include "snapshot/capture.h"

namespace oddrank::collectives {

// Adds a call without an operation to the main thread of each such rank, if only one of its groups
// has calls for devices, and none of them is a send or receive. The device may be at an older call,
// or at other work; but if it is stuck there, it has not reached the newest call either.
// Precondition: join_flight (join_flight.h), with all dumps.
void add_counted_calls(snapshot::Capture& capture);

}  // namespace oddrank::collectives
