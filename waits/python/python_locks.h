// Finds the holders of Python locks that threads wait for: threading.RLock and import locks, which
// store their owner; joined threads, and threads that work on the awaited future; and plain locks,
// whose holder is inferred from the frames.
//
// A threading.Lock has no owner, and any thread may release it. But a thread whose frame is in the
// body of `with lock:` has entered that lock and will be the one to leave it: the bound __exit__
// lies on the frame's value stack (frame_values.h). If no thread is in a `with` of the lock, it is
// the one whose function has called acquire() and has yet to call release()
// (cpython/bytecode/taken_locks.h). Such holders are marked as inferred. A function that has
// returned after acquire() leaves no trace.
#pragma once

#include "waits/python/python_waits.h"

namespace oddrank::waits {

// Finds the holders. Considers only threads that run Python and wait for a lock without a known
// holder; reads nothing if there are none.
void read_python_locks(PythonWaits& all);

}  // namespace oddrank::waits
