// What the names of a thread's frames add to its wait, native and Python. Works on plain data, when
// the frames have their names.
#pragma once

#include "snapshot/process_capture.h"
#include "snapshot/tables.h"

namespace oddrank::waits {

// Fills in that a lock is the GIL (with its holder), which call of libc waits and whose inner lock
// it is, and which primitive of Python's library it is that has no owner. `thread` has a sample.
void name_wait(const snapshot::ProcessCapture& process,
               const snapshot::ThreadCapture& thread,
               snapshot::Tables& tables,
               snapshot::Wait& wait);

}  // namespace oddrank::waits
