// The value stack of a frame in a target: what its calls and loops work with.
#pragma once

#include <cstdint>

#include "cpython/frame_chain.h"
#include "cpython/python_memory.h"

namespace oddrank::cpython {

// Returns where the frame's value stack begins; null if that is not known.
Addr value_stack(PythonMemory& memory, const RawFrame& frame);

// Returns the value at that place, 0 being the lowest; null if there is none, or it cannot be read.
// Values above the top are stale.
Addr stack_value(PythonMemory& memory, Addr stack, std::int64_t place);

}  // namespace oddrank::cpython
