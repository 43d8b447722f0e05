// One look at one process, as it runs in a child of the agent: stacks, then waits.
#pragma once

#include <sys/types.h>

#include "node/capture_options.h"
#include "snapshot/capture.h"

namespace oddrank::node {

// A capture with one node and one process: `identity` (what discovery knows of it, a row of
// `known`), and what could be read. Never fails: what could not be read is said in the process's
// `read` and `why`. May block where the target blocks; see base/isolated.h.
snapshot::Capture read_process(const snapshot::Capture& known,
                               const snapshot::ProcessCapture& identity,
                               const CaptureOptions& options);

// What /proc tells without touching the memory of the target, for a process whose reader did not
// answer: state, and where the kernel has it sleep. Does not block on a target in state D.
void read_from_outside(snapshot::Capture& capture, snapshot::ProcessCapture& process);

}  // namespace oddrank::node
