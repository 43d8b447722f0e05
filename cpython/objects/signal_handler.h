// Frames of Python code that handle a signal, and the number of the signal.
//
// Python runs handlers between two instructions of the main thread, or when a system call was
// interrupted, long after the kernel delivered the signal. A handler's frame is not marked, but its
// arguments are the signal's number and the interrupted frame.
#pragma once

#include "cpython/python_memory.h"

namespace oddrank::cpython {

// Returns the number of the signal that `frame` handles, called from `caller`; 0 if it handles
// none, or has assigned to its arguments. Both are frames of one chain.
int handled_signal(PythonMemory& memory, Addr frame, Addr caller);

}  // namespace oddrank::cpython
