// Finds the threads that may hand work over to an event loop of asyncio: their variables have the
// loop of another thread, which asyncio.run_coroutine_threadsafe() and loop.call_soon_threadsafe()
// need. Coroutines of that loop may wait for what such a thread does.
#pragma once

#include "waits/python/python_waits.h"

namespace oddrank::waits {

// Sets ThreadWait::feeds_loop. Loops that are no Python objects (uvloop) are not found.
void read_loop_feeders(PythonWaits& all);

}  // namespace oddrank::waits
