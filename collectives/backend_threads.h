// Whether a process runs the threads of a communication backend. A process that was forked after
// its parent had made a group has the group's objects, but none of its threads.
#pragma once

#include "snapshot/process_capture.h"
#include "snapshot/tables.h"

namespace oddrank::collectives {

// Returns whether a thread other than the main one runs inside a communication library. While
// frames have no names, a thread of torch's library without Python counts.
bool has_backend_thread(const snapshot::ProcessCapture& process, const snapshot::Tables& tables);

}  // namespace oddrank::collectives
