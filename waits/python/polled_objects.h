// Threads that poll an object of their own process until another thread has done its part: a
// threading.Thread until it ends, a future until it is done, an Event until it is set, a queue
// until it is empty. The kernel sees them only sleep; the loop that they are in shows what it asks
// (snapshot/loops/python_loop.h), and the variables of its frame hold the object.
//
// Heuristic: it is not known which of the frame's objects the loop asks. So all objects of that
// kind count, in variables and their attributes (not in lists), whose state is not yet what the
// loop wants. A thread is named only if all of them lead to it; the wait is marked as inferred.
#pragma once

#include "waits/python/python_waits.h"

namespace oddrank::waits {

// Finds the threads whose work is polled for. Changes only the waits of threads that sleep in such
// a loop; if no thread does, it reads nothing. The wait becomes one for the thread that was found.
void read_polled_objects(PythonWaits& all);

}  // namespace oddrank::waits
