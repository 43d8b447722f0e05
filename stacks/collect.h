// All stacks of one target: threads, native and Python frames merged, the GIL. The one door of
// stacks/ for the agent.
#pragma once

#include <cstddef>

#include "attach/target.h"
#include "base/result.h"
#include "snapshot/process_capture.h"
#include "snapshot/tables.h"

namespace oddrank::stacks {

struct CollectOptions {
  bool native = true;
  bool python = true;
  bool locals = true;  // scalar locals of Python frames, within bounds
  std::size_t frame_limit = 4096;
};

// Appends one sample to each thread of `process` (a thread seen first gets its row; one that ended
// keeps what it had) and fills python_version, the GIL's fields and locals. Sets process.state from
// the main thread, process.read to kFull or kPartial, and `why` where it is partial. Native frames
// have no names yet: see symbolize.h, to be called when the target has been let go.
// A thread that moved while it was read is read again, then marked kTorn; one that runs gets its
// Python frames only (kRunning).
// An Error only if nothing at all could be read.
Status collect_stacks(const attach::Target& target,
                      const CollectOptions& options,
                      snapshot::Tables& tables,
                      snapshot::ProcessCapture& process);

}  // namespace oddrank::stacks
