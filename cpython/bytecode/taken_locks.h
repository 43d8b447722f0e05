// Objects that a frame has taken by a plain acquire() and has yet to give back by release().
//
// A lock of threading or asyncio has no owner. But a function that calls its acquire() without
// arguments, and calls release() of the same object later on, has it in between. Only calls in the
// frame's own code count, if each way to its present place passes acquire(), and none passes
// release() after that. A frame that is in acquire() of the object again uses it as a signal, which
// another thread gives. Limit: another thread may have released the object meanwhile.
#pragma once

#include <vector>

#include "cpython/bytecode/code_analysis.h"
#include "cpython/code_object.h"
#include "cpython/frame_chain.h"
#include "cpython/python_memory.h"

namespace oddrank::cpython {

// Returns the objects, whatever their types are; none if the code cannot be analysed.
std::vector<Addr> read_taken(PythonMemory& memory,
                             CodeAnalysis& analysis,
                             const CodeObject& object,
                             const RawFrame& frame);

}  // namespace oddrank::cpython
