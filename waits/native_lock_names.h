// What the names of libc's functions say about a lock: which call the thread waits in, and whose
// inner lock it is (the allocator's, the dynamic loader's). Works on plain data, when the frames
// have their names.
#pragma once

#include "snapshot/tables.h"
#include "snapshot/thread_capture.h"

namespace oddrank::waits {

// Adds "in malloc(): the allocator's lock" and the like to the detail of a wait for a lock. Where
// the call is one without an owner (a condition variable, a semaphore), says so, and takes back
// that the owner were gone: what looked like one was other data.
void name_native_lock(const snapshot::ThreadCapture& thread,
                      snapshot::Tables& tables,
                      snapshot::Wait& wait);

}  // namespace oddrank::waits
