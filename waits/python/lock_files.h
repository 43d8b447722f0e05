// Threads that poll a lock file: the kernel sees them only sleep or run. Their Python frames show
// that they wait for a file to disappear, and a variable of the frame names the file.
#pragma once

#include <vector>

#include "attach/target.h"
#include "cpython/python_sample.h"
#include "snapshot/process_capture.h"
#include "snapshot/tables.h"
#include "waits/thread_wait.h"

namespace oddrank::waits {

// Finds polled lock files. `waits` has one entry for each of process.threads, whose stacks have
// been read. Changes only the waits of threads in such a frame; reads nothing if there are none.
// The wait becomes one for a file lock, with the path and no holder: the processes that have the
// file open are found for the whole node (ends/join_ends.h).
void read_lock_files(cpython::PythonSample& python,
                     const std::vector<attach::ThreadState>& states,
                     const snapshot::Tables& tables,
                     const snapshot::ProcessCapture& process,
                     std::vector<ThreadWait>& waits);

}  // namespace oddrank::waits
