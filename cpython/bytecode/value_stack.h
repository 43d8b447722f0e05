// The value stack of a frame in a target.
#pragma once

#include <cstdint>
#include <optional>

#include "cpython/frame_chain.h"
#include "cpython/python_memory.h"

namespace oddrank::cpython {

// Returns the start of the frame's value stack; null if it is unknown.
Addr value_stack(PythonMemory& memory, const RawFrame& frame);

// Returns the value at that place (0: the lowest); null if there is none, or it cannot be read.
// Values above the top are stale.
Addr stack_value(PythonMemory& memory, Addr stack, std::int64_t place);

// Returns the number at that place if it is a plain one, without an object (3.14 and later).
std::optional<std::int64_t> stack_number(PythonMemory& memory, Addr stack, std::int64_t place);

}  // namespace oddrank::cpython
