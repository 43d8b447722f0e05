// Finds the threads that may hand work over to an event loop of asyncio: their variables have the
// loop of another thread, which asyncio.run_coroutine_threadsafe() and loop.call_soon_threadsafe()
// need. Coroutines of that loop may wait for what such a thread does.
#pragma once

#include <vector>

#include "attach/target.h"
#include "cpython/python_sample.h"
#include "snapshot/process_capture.h"
#include "waits/thread_wait.h"

namespace oddrank::waits {

// Sets ThreadWait::feeds_loop. Loops that are no Python objects (uvloop) are not found.
void read_loop_feeders(cpython::PythonSample& python,
                       const std::vector<attach::ThreadState>& states,
                       const snapshot::ProcessCapture& process,
                       std::vector<ThreadWait>& waits);

}  // namespace oddrank::waits
