// Reads what live processes and core files have in common: threads and process groups.
#pragma once

#include "attach/target.h"
#include "base/result.h"
#include "node/read_options.h"
#include "snapshot/process_capture.h"
#include "snapshot/tables.h"
#include "stacks/collect.h"

namespace oddrank::node {

// Reads the stacks of all threads and what they do, as stacks/collect.h says, and the process
// groups that Python holds, into `process`.
Result<stacks::Collected> read_threads(const attach::Target& target,
                                       const ReadOptions& options,
                                       snapshot::Tables& tables,
                                       snapshot::ProcessCapture& process);

}  // namespace oddrank::node
