// The loops that a frame is in, and their calls: they show what a polling thread checks between its
// sleeps.
//
// Where in its code a frame stands: which calls it has passed, and in which turns of the loops.
//
// Ranks of one job mostly run one program. If two stand in the same function, in the same turn of
// its loops, and control can get from the line of one to the line of the other, the first is
// behind.
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

inline constexpr std::size_t kMaxPassedLines = 32;  // ranges, of one frame

struct LoopTurn {
  std::uint32_t line = 0;  // of the loop's head
  std::int64_t left = -1;  // turns still to come (bytecode/loop_items.h); -1: unknown
  bool retries = false;    // it goes on by exceptions only (bytecode/loops.h)
};

struct LineRange {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
};

struct FramePlace {
  std::vector<LoopTurn> turns;  // of the loops around the instruction, outermost first
  // Lines of calls that control may have passed on its way to the instruction, since the function
  // was entered and within the present turns of these loops. Ascending; without the frame's own
  // line.
  std::vector<LineRange> passed;
};

// Returns nullopt if the code is unknown, cannot be read, or has too many such lines.
std::optional<FramePlace> read_place(PythonMemory& memory,
                                     CodeAnalysis& analysis,
                                     const CodeObject& object,
                                     const RawFrame& frame);

}  // namespace oddrank::cpython
