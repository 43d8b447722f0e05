// Joins the waits between the processes of one node, from what was read of each: the worker that a
// rank waits for, the holder of the GIL or the allocator's lock, what a thread did between samples.
#pragma once

#include "snapshot/capture.h"

namespace oddrank::waits {

// A rank that waits for its loader, by its frames, has the worker that does not deliver as its
// holder. Pure: reads and writes only the capture.
void join_processes(snapshot::Capture& capture);

}  // namespace oddrank::waits
