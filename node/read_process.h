// One look at one process, as it runs in a child of the agent: stacks, then waits.
#pragma once

#include "node/read_options.h"
#include "snapshot/capture.h"

namespace oddrank::node {

// A capture with one node and one process: `identity` (what discovery knows of it, a row of
// `known`), and what could be read. Never fails: what could not be read is said in the process's
// `read` and `why`. May block where the target blocks; see base/isolated.h.
snapshot::Capture read_process(const snapshot::Capture& known,
                               const snapshot::ProcessCapture& identity,
                               const ReadOptions& options);

}  // namespace oddrank::node
