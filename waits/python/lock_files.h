// Threads that poll a lock file: the kernel sees them only sleep or run. Their Python frames show
// that they wait for a file to disappear, and a variable of the frame names the file.
#pragma once

#include "waits/python/python_waits.h"

namespace oddrank::waits {

// Finds polled lock files. Changes only the waits of threads in such a frame; reads nothing if
// there are none. The wait becomes one for a file lock, with the path and no holder: the processes
// that have the file open are found for the whole node (ends/join_ends.h).
void read_lock_files(PythonWaits& all);

}  // namespace oddrank::waits
