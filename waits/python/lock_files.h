// Threads that poll a lock file: to the kernel they sleep or run, their Python frames tell that
// they wait for a file to go away, and a variable of the frame which file.
#pragma once

#include <vector>

#include "attach/target.h"
#include "cpython/python_sample.h"
#include "snapshot/process_capture.h"
#include "snapshot/tables.h"
#include "waits/thread_wait.h"

namespace oddrank::waits {

// `waits` belong to process.threads, one each, whose stacks have been read. Looks only at those
// below such a frame; reads nothing if there are none. The wait becomes one for a file
// lock, with the path and no holder: who has the file open is found over the node (join_ends.h).
void read_lock_files(cpython::PythonSample& python,
                     const std::vector<attach::ThreadState>& states,
                     const snapshot::Tables& tables,
                     const snapshot::ProcessCapture& process,
                     std::vector<ThreadWait>& waits);

}  // namespace oddrank::waits
