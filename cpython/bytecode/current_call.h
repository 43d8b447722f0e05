// The current call of a frame: its callee and its arguments. While a C function runs, its arguments
// are still on the value stack of the frame that called it.
//
// The value stack of a frame in a target.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cpython/bytecode/code_analysis.h"
#include "cpython/code_object.h"
#include "cpython/frame_chain.h"
#include "cpython/python_memory.h"

namespace oddrank::cpython {

struct CurrentCall {
  std::string name;  // its last part: "wait"; empty if the callee has no name
  Addr self{};       // the method's object; null if it is not a method, or unknown
  // The first kMaxCallArguments, by position and then by name; null if unknown.
  std::vector<Addr> arguments;
};

// Returns nullopt if the frame's current instruction is not a call, or the code is unknown or
// cannot be read. Trust an object only if it has an expected type.
std::optional<CurrentCall> read_current_call(PythonMemory& memory,
                                             CodeAnalysis& analysis,
                                             const CodeObject& object,
                                             const RawFrame& frame);

// Returns the start of the frame's value stack; null if it is unknown.
Addr value_stack(PythonMemory& memory, const RawFrame& frame);

// Returns the value at that place (0: the lowest); null if there is none, or it cannot be read.
// Values above the top are stale.
Addr stack_value(PythonMemory& memory, Addr stack, std::int64_t place);

// Returns the number at that place if it is a plain one, without an object (3.14 and later).
std::optional<std::int64_t> stack_number(PythonMemory& memory, Addr stack, std::int64_t place);

}  // namespace oddrank::cpython
