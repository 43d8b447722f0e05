// Tells files that show the end of a process from files that bring data: a supervisor that waits
// for its children to end asks them for nothing.
#pragma once

#include <vector>

#include "attach/target.h"
#include "cpython/python_sample.h"
#include "snapshot/process_capture.h"
#include "waits/thread_wait.h"

namespace oddrank::waits {

// Marks the pipes that multiprocessing.connection.wait has as `sentinel` of a process (CPython 3.8
// to 3.15). `waits` has one entry for each of process.threads.
void read_process_ends(cpython::PythonSample& python,
                       const std::vector<attach::ThreadState>& states,
                       const snapshot::ProcessCapture& process,
                       std::vector<ThreadWait>& waits);

}  // namespace oddrank::waits
