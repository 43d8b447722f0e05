// The calls of ranks that wait for their devices, if no recorder has them (PyTorch's was off by
// default for long, and can be switched off): the group's own count tells which call is the newest.
#pragma once

#include "snapshot/capture.h"

namespace oddrank::collectives {

// Adds a call without an operation to the main thread of each such rank, if only one of its groups
// has been given calls for devices, and no sends or receives. The newest call need not be what the
// device is at: what runs before it may be older calls, or work of the program's own. But a device
// that is stuck in an older call has not reached the newest one either. Precondition: join_flight
// (join_flight.h), with all dumps.
void add_counted_calls(snapshot::Capture& capture);

}  // namespace oddrank::collectives
