// One sample of one process, taken in a child of the agent: stacks, then waits.
#pragma once

#include "node/read_options.h"
#include "snapshot/capture.h"

namespace oddrank::node {

// Returns a capture with one node and one process: `identity` (its row from discovery, in `known`),
// with everything that could be read. Never fails: `read` and `why` of the process say what could
// not be read. May block if the target blocks; see base/isolated.h.
snapshot::Capture read_process(const snapshot::Capture& known,
                               const snapshot::ProcessCapture& identity,
                               const ReadOptions& options);

}  // namespace oddrank::node
