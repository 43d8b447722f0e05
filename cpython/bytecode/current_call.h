// The call that a frame is in: what it calls, with which objects. While a function of C runs, its
// arguments are still on the value stack of the frame that called it.
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
  std::string name;  // its last part: "wait"; empty if what is called has no name
  Addr self{};       // the object that it is a method of; null if it is none, or not known
  // The first kMaxCallArguments, by position and then by name; null where not known.
  std::vector<Addr> arguments;
};

// Returns nullopt if the frame's current instruction is no call, or the code cannot be read or is
// not known. Believe an object only if its type is one that is expected.
std::optional<CurrentCall> read_current_call(PythonMemory& memory,
                                             CodeAnalysis& analysis,
                                             const CodeObject& object,
                                             const RawFrame& frame);

}  // namespace oddrank::cpython
