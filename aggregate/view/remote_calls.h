// Calls of torch.distributed.rpc: one rank waits in rpc_sync() or to_here(), a thread of another
// rank runs the function for it. That thread is a strand of its rank beside the main thread: it
// holds the caller up, whatever the main thread waits in.
#pragma once

#include "aggregate/frames/frame_model.h"
#include "snapshot/process_capture.h"

namespace oddrank::aggregate {

// Returns whether the thread waits for the answer to a call that it made.
bool calls_remotely(FrameModel& model, const snapshot::ThreadCapture& thread);

// Returns the only thread of the process that runs a function for another rank; null if there is
// none, or if there are several.
const snapshot::ThreadCapture* serving_thread(FrameModel& model,
                                              const snapshot::ProcessCapture& process);

}  // namespace oddrank::aggregate
