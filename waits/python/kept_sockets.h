// Finds the sockets that a Python thread has in variables of its frames, or in attributes of such
// variables. They show which thread of a server answers on a connection, whatever it waits for
// meanwhile.
#pragma once

#include <vector>

#include "attach/target.h"
#include "cpython/python_sample.h"
#include "snapshot/process_capture.h"
#include "waits/thread_wait.h"
#include "waits/wait_context.h"

namespace oddrank::waits {

// Adds to the waits of all threads but the main one, which makes most connections itself. Knows
// socket.socket and multiprocessing.connection.Connection (CPython 3.8 to 3.15). `waits` has one
// entry for each of process.threads.
void read_kept_sockets(cpython::PythonSample& python,
                       const std::vector<attach::ThreadState>& states,
                       const ProcessFiles& files,
                       const snapshot::ProcessCapture& process,
                       std::vector<ThreadWait>& waits);

}  // namespace oddrank::waits
