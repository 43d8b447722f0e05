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

// For whoever asks what the threads wait for.
struct Collected {
  // As they were when their stacks were read; those that ended meanwhile are left out.
  std::vector<attach::ThreadState> threads;
  // Where a Python was read; borrows the target.
  std::optional<cpython::PythonSample> python;
};

// Appends one sample to each thread of `process` (a thread seen first gets its row; one that ended
// keeps what it had) and fills python_version, the GIL's fields and locals. Sets process.state from
// the main thread, process.read to kFull or kPartial, and `why` where it is partial. Native frames
// have no names yet: see symbolize.h, to be called when the target has been let go.
// A thread that moved while it was read is read again; one that still moves, or runs, or needs
// registers is stopped for as long as it takes to copy its stack (reading.h). How many threads were
// stopped, and for how long, is added to `process`. Where a stop is not wanted or not possible, the
// stack of a thread that moved is marked kTorn, and one that runs has its Python frames only
// (kRunning).
// An Error only if nothing at all could be read.
Result<Collected> collect_stacks(const attach::Target& target,
                                 const CollectOptions& options,
                                 snapshot::Tables& tables,
                                 snapshot::ProcessCapture& process);

}  // namespace oddrank::stacks
