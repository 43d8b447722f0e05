// The calls of ranks that wait for their devices, if no recorder has them (PyTorch's was off by
// default for long, and can be switched off): the group's own count is the number of the newest
// call.
#pragma once

#include "snapshot/capture.h"

namespace oddrank::collectives {

// Adds a call without an operation to the main thread of each such rank, if only one of its groups
// has calls for devices, and none of them is a send or receive. The device need not be at the
// newest call: it may be at an older one, or at other work. But if it is stuck there, it has not
// reached the newest call either. Precondition: join_flight (join_flight.h), with all dumps.
void add_counted_calls(snapshot::Capture& capture);

}  // namespace oddrank::collectives
