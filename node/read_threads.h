// Reads the parts that live processes and core files share: threads and process groups.
#pragma once

#include "attach/target.h"
#include "base/result.h"
#include "node/read_options.h"
#include "snapshot/process_capture.h"
#include "snapshot/tables.h"
#include "stacks/collect.h"

namespace oddrank::node {

// Reads the stacks of all threads (stacks/collect.h) and Python's process groups into `process`.
Result<stacks::Collected> read_threads(const attach::Target& target,
                                       const ReadOptions& options,
                                       snapshot::Tables& tables,
                                       snapshot::ProcessCapture& process);

}  // namespace oddrank::node
