// Makes one stack out of two: the native frames of a thread and its Python frames, in call order.
//
// Each native evaluation frame (snapshot::kEvaluation), from the innermost outwards, stands for one
// entry Python frame and the non-entry frames above it (all Python frames are entries up to 3.10).
// The Python frames are put in front of (inside) their evaluation frame. If the counts disagree,
// nothing is lost: both stacks are kept, marked as a mismatch.
#pragma once

#include <vector>

#include "snapshot/frame.h"

namespace oddrank::stacks {

struct MergedFrames {
  std::vector<snapshot::Frame> frames;         // merged, or the native ones
  std::vector<snapshot::Frame> python_frames;  // only if state is kMismatch
  // For each Python frame, in order, its index in `frames` (or python_frames on a mismatch).
  std::vector<std::size_t> python_index;
  snapshot::MergeState state = snapshot::MergeState::kNativeOnly;
};

// Merges two stacks, both innermost first. `native_complete`: the native stack was read to its end;
// only then does an extra evaluation frame count as a mismatch.
MergedFrames merge(std::vector<snapshot::Frame> native,
                   std::vector<snapshot::Frame> python,
                   bool native_complete);

}  // namespace oddrank::stacks
