// The loops that a frame is in, and their calls: they show what a polling thread checks between its
// sleeps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cpython/bytecode/code_analysis.h"
#include "cpython/code_object.h"
#include "cpython/frame_chain.h"
#include "cpython/python_memory.h"

namespace oddrank::cpython {

inline constexpr std::size_t kMaxCallsOfLoop = 16;
inline constexpr std::size_t kMaxVariablesOfLoop = 64;

struct FrameCall {
  // The last part of the callee's name, after its module or type if that is known:
  // "posixpath.exists"; empty if it has no name.
  std::string name;
  std::string object;    // text of the first argument with one, else of the method's object
  bool ends = false;     // if it returns, the loop ends: in every turn so far, a call raised
  bool may_end = false;  // or it may end by what the call returns (loop_exits.h)

  bool operator==(const FrameCall&) const = default;
};

struct FrameLoop {
  bool iterates = false;  // over items: a `for` loop, or one that empties a container
  bool endless = false;   // only an exception leads out of it: `while True: sleep(1)`
  bool cut = false;       // it calls more than is listed
  // How many items, or turns, are left, if known (bytecode/loop_items.h).
  std::optional<std::int64_t> left;
  // In the order of the code, equal rows once. A function or method of the same file, or a
  // comprehension, is replaced by the calls that it makes.
  std::vector<FrameCall> calls;
  // Names of the variables that the loop's code sets, each once; at most kMaxVariablesOfLoop.
  std::vector<std::string> sets;
};

// Returns the loops around the frame's current instruction, innermost first; at most
// kMaxNestedLoops. Empty if there are none, or the code is unknown or cannot be read.
std::vector<FrameLoop> read_loops(PythonMemory& memory,
                                  CodeAnalysis& analysis,
                                  const CodeObject& object,
                                  const RawFrame& frame);

}  // namespace oddrank::cpython
