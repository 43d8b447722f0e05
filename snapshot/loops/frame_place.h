// Where in its function a Python frame stands: to compare ranks that run one program
// (cpython/bytecode/frame_place.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/small/slim_vector.h"

namespace oddrank::snapshot {

inline constexpr std::size_t kMaxPlaces = 32;        // of one thread, from the innermost frame on
inline constexpr std::size_t kMaxTurns = 3;          // of one place
inline constexpr std::size_t kMaxPassedRanges = 32;  // the same

// A loop around the frame's instruction.
struct LoopTurn {
  std::uint32_t line = 0;  // of its head
  std::int64_t left = -1;  // turns still to come; -1 = unknown
  // Only an exception leads to the next turn: `while True: try: return get()`.
  bool retries = false;

  bool operator==(const LoopTurn&) const = default;
};

struct LineRange {
  std::uint32_t first = 0;
  std::uint32_t last = 0;

  bool operator==(const LineRange&) const = default;
};

struct FramePlace {
  std::uint32_t frame = 0;     // index into the frames of the last sample's (python_)stack
  SlimVector<LoopTurn> turns;  // outermost first
  // Lines of calls that control may have passed on its way here, since the function was entered and
  // within the present turns of the loops: ascending.
  SlimVector<LineRange> passed;

  // Returns whether the innermost loop around it tries something until it succeeds.
  bool retries() const { return !turns.empty() && turns.back().retries; }

  bool operator==(const FramePlace&) const = default;
};

}  // namespace oddrank::snapshot
