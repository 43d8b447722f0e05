// One sample of one process, taken in a child of the agent: stacks, then waits.
//
// Reads the parts that live processes and core files share: threads and process groups.
#pragma once

#include "attach/target.h"
#include "base/result.h"
#include "node/read_options.h"
#include "snapshot/capture.h"
#include "snapshot/process_capture.h"
#include "snapshot/tables.h"
#include "stacks/collect.h"

namespace oddrank::node {

// Returns a capture with one node and one process: `identity` (its row from discovery, in `known`),
// with everything that could be read. Never fails: `read` and `why` of the process say what could
// not be read. May block if the target blocks; see base/isolated.h.
snapshot::Capture read_process(const snapshot::Capture& known,
                               const snapshot::ProcessCapture& identity,
                               const ReadOptions& options);

// Reads the stacks of all threads (stacks/collect.h) and Python's process groups into `process`.
Result<stacks::Collected> read_threads(const attach::Target& target,
                                       const ReadOptions& options,
                                       snapshot::Tables& tables,
                                       snapshot::ProcessCapture& process);

}  // namespace oddrank::node
