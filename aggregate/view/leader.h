// Which thread of a rank speaks for it, and whether it moved between its samples.
#pragma once

#include "aggregate/view/frame_model.h"
#include "aggregate/view/job_view.h"
#include "snapshot/process_capture.h"

namespace oddrank::aggregate {

// Returns the main thread, unless it waits for another thread that is in a call of a communication
// library, or that owns the lock and itself waits for something other than a thread of the process.
// Null if no thread was read.
const snapshot::ThreadCapture* find_leader(const snapshot::ProcessCapture& process,
                                           FrameModel& model);

Motion measure_motion(const snapshot::ThreadCapture& thread, FrameModel& model);

}  // namespace oddrank::aggregate
