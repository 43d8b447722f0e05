// All stacks of one target: threads, native and Python frames merged, the GIL. The one door of
// stacks/ for the agent.
#pragma once

#include <optional>
#include <vector>

#include "attach/target.h"
#include "base/result.h"
#include "cpython/python_sample.h"
#include "snapshot/process_capture.h"
#include "snapshot/tables.h"
#include "stacks/collect_options.h"

namespace oddrank::stacks {

// Input for waits/: what the threads wait for.
struct Collected {
  // The threads as they were when their stacks were read; without those that ended meanwhile.
  std::vector<attach::ThreadState> threads;
  // Set if Python was read; borrows the target.
  std::optional<cpython::PythonSample> python;
};

// Appends one sample to each thread of `process` (a thread seen first gets its row; one that ended
// keeps what it had) and fills python_version, the GIL's fields and locals. Sets process.state from
// the main thread, process.read to kFull or kPartial, and `why` if it is partial. Native frames
// have no names yet; symbolize.h adds them later. A thread that moved while it was read is read
// again; one that still moves, or runs, or needs registers is stopped for as long as it takes to
// copy its stack (reading.h). How many threads were stopped, and for how long, is added to
// `process`. If a stop is not wanted or not possible, the stack of a thread that moved is marked
// kTorn, and a thread that runs has its Python frames only (kRunning). Fails only if nothing at all
// could be read.
Result<Collected> collect_stacks(const attach::Target& target,
                                 const CollectOptions& options,
                                 snapshot::Tables& tables,
                                 snapshot::ProcessCapture& process);

}  // namespace oddrank::stacks
