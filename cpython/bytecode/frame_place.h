// Where in its code a frame stands: which calls it has passed, and in which turns of the loops.
//
// Ranks of one job mostly run one program. If two stand in the same function, in the same turn of
// its loops, and control can get from the line of one to the line of the other, the first is
// behind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "cpython/bytecode/code_analysis.h"
#include "cpython/code_object.h"
#include "cpython/frame_chain.h"
#include "cpython/python_memory.h"

namespace oddrank::cpython {

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
