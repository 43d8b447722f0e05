// What the processes of one node wait for among themselves, from what was read of each: the worker
// that a rank waits for, who has the GIL or the allocator's lock, what a thread did between
// samples.
#pragma once

#include "snapshot/capture.h"

namespace oddrank::waits {

// A rank whose frames say that it waits for its loader gets the worker that does not deliver as
// holder. Pure: reads and writes the capture only.
void join_processes(snapshot::Capture& capture);

}  // namespace oddrank::waits
