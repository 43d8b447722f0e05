// The current call of a frame: its callee and its arguments. While a C function runs, its arguments
// are still on the value stack of the frame that called it.
#pragma once

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

}  // namespace oddrank::cpython
