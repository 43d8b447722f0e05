// Which wait is one for Python's GIL, and who holds it. Works on plain data, when the frames have
// their names.
#pragma once

#include "snapshot/process_capture.h"
#include "snapshot/tables.h"
#include "snapshot/wait.h"

namespace oddrank::waits {

// To the kernel the GIL is a lock like any other: that it is the GIL was found where the runtime
// was read, or is said by the frames. Does nothing to other waits. `thread` has a sample.
void name_gil_wait(const snapshot::ProcessCapture& process,
                   const snapshot::ThreadCapture& thread,
                   const snapshot::Tables& tables,
                   snapshot::Wait& wait);

}  // namespace oddrank::waits
