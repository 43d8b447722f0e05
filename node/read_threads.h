// What is read of a process whatever it is read from, a live one or a core file.
#pragma once

#include "attach/target.h"
#include "base/result.h"
#include "node/read_options.h"
#include "snapshot/process_capture.h"
#include "snapshot/tables.h"
#include "stacks/collect.h"

namespace oddrank::node {

// The stacks of all threads and what these were seen as, as stacks/collect.h says, and the process
// groups that Python holds.
Result<stacks::Collected> read_threads(const attach::Target& target,
                                       const ReadOptions& options,
                                       snapshot::Tables& tables,
                                       snapshot::ProcessCapture& process);

}  // namespace oddrank::node
