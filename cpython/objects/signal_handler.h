// Python code that handles a signal: which frame the interpreter called for one, and which one.
//
// Python runs handlers between two instructions of the main thread, or when a system call was
// interrupted, long after the kernel delivered the signal. No frame says so, but a handler is
// called with the signal's number and the frame that it interrupts.
#pragma once

#include "cpython/python_memory.h"

namespace oddrank::cpython {

// Returns the number of the signal that `frame` handles while `caller` waits; 0 if it handles none,
// or has bound its arguments anew. Both are frames of one chain.
int handled_signal(PythonMemory& memory, Addr frame, Addr caller);

}  // namespace oddrank::cpython
