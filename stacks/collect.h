// All stacks of one target: threads, native and Python frames merged, the GIL. The agent's only
// entry point to stacks/.
#pragma once

#include <sys/types.h>

#include <optional>
#include <vector>

#include "attach/target.h"
#include "base/result.h"
#include "cpython/python_sample.h"
#include "snapshot/process_capture.h"
#include "snapshot/tables.h"
#include "stacks/collect_options.h"
#include "unwind/native_unwind.h"

namespace oddrank::stacks {

// Frames of one thread, innermost first, with their words.
struct KeptFrames {
  pid_t tid = 0;
  std::vector<unwind::NativeFrame> frames;
};

// Input for waits/: what the threads wait for.
struct Collected {
  // The threads at the time when their stacks were read, without those that exited meanwhile.
  std::vector<attach::ThreadState> threads;
  // The frames in modules that CollectOptions::keeps_words chose, for each thread that has some.
  std::vector<KeptFrames> kept;
  // Set if Python was read; borrows the target.
  std::optional<cpython::PythonSample> python;
};

// Appends one sample to each thread of `process` (a new thread gets a row; an exited one keeps its
// data) and fills python_version, `ending` (kFinalized), the GIL's fields and locals. Sets
// process.state from the main thread, process.read to kFull or kPartial, and `why` if it is
// partial. Native frames have no names yet; symbolize.h adds these later. A thread that moved while
// it was read is read again; one that still moves, or runs, or needs registers is stopped for as
// long as it takes to copy its stack (reading.h). Adds to `process` how many threads were stopped,
// and for how long. If a stop is not allowed or not possible, the stack of a thread that moved is
// marked kTorn, and a running thread has only its Python frames (kRunning, kRunningTorn). Fails
// only if nothing could be read.
Result<Collected> collect_stacks(const attach::Target& target,
                                 const CollectOptions& options,
                                 snapshot::Tables& tables,
                                 snapshot::ProcessCapture& process);

}  // namespace oddrank::stacks
