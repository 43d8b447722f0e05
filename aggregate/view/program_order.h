// Which of two ranks that run one program is behind the other.
//
// Both stand in the same functions, called from the same lines in the same turns of their loops,
// down to a function in which their lines differ. There, one is behind the other if control can get
// from its line to the other's within the turn, and not back.
#pragma once

#include <cstdint>
#include <vector>

#include "aggregate/view/job_view.h"

namespace oddrank::aggregate {

enum class ProgramOrder : std::uint8_t {
  kUnknown = 0,
  kSame,
  kBehind,  // the first has not come as far as the second
  kAhead,
  kApart,  // in two branches or two loops: control gets from neither to the other
};

struct PlacedFrame {
  const snapshot::Frame* frame = nullptr;
  const snapshot::FramePlace* place = nullptr;  // null: not read
};

// The Python frames of a thread, outermost first. Borrows them.
using ProgramPlace = std::vector<PlacedFrame>;

// Returns where the rank's decider stands; empty if unknown.
ProgramPlace place_in_program(const JobView& view, const RankView& rank);

// Compares the first with the second.
ProgramOrder program_order(const ProgramPlace& a, const ProgramPlace& b);

}  // namespace oddrank::aggregate
