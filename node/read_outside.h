// Reads what /proc shows about a process whose memory cannot be read because its reader did not
// answer.
#pragma once

#include "snapshot/capture.h"

namespace oddrank::node {

// Fills the process's state and one thread with the kernel function that it sleeps in, and adds
// both to `why`; a process that has exited gets state X or Z and no thread. Touches no memory of
// the target, so it does not block if the target is in state D.
void read_from_outside(snapshot::Capture& capture, snapshot::ProcessCapture& process);

}  // namespace oddrank::node
