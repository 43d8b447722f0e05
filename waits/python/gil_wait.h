// Recognises waits for Python's GIL, and finds its holder. Works on plain data, after the frames
// have their names.
#pragma once

#include "snapshot/process_capture.h"
#include "snapshot/tables.h"
#include "snapshot/wait.h"

namespace oddrank::waits {

// Marks a wait for the GIL and sets its holder; leaves other waits alone. The kernel sees an
// ordinary lock: the runtime or the frames show that it is the GIL. `thread` must have a sample.
void name_gil_wait(const snapshot::ProcessCapture& process,
                   const snapshot::ThreadCapture& thread,
                   const snapshot::Tables& tables,
                   snapshot::Wait& wait);

}  // namespace oddrank::waits
