#include "aggregate/view/left_loop.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "aggregate/frames/frame_model.h"

namespace oddrank::aggregate {
namespace {

// Loops are read for this many innermost Python frames (cpython/python_process.h).
constexpr std::size_t kFramesWithLoops = 6;

struct LoopedFrame {
  snapshot::Frame frame;
  snapshot::FrameId id{};
  std::size_t loops = 0;
};

struct LoopedFrames {
  std::vector<LoopedFrame> frames;  // the program's own whose loops were read, innermost first
  bool all = false;                 // the loops of all Python frames were read
};

LoopedFrames looped_frames(const JobView& view, const RankView& rank) {
  LoopedFrames found;
  const snapshot::ThreadSample* sample = rank.sample();
  if (sample == nullptr) {
    return found;
  }
  const snapshot::Tables& tables = view.capture().tables;
  const auto& frames = tables.stack(sample->python_frames()).frames;
  std::size_t python = 0;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const snapshot::Frame& frame = tables.frame(frames[i]);
    if (frame.kind != snapshot::FrameKind::kPython || ++python > kFramesWithLoops) {
      continue;
    }
    if (view.model().shown(frames[i]).user) {
      const auto& loops = rank.decider->loops;
      const auto count =
          std::ranges::count_if(loops, [i](const auto& loop) { return loop.frame == i; });
      found.frames.push_back({frame, frames[i], static_cast<std::size_t>(count)});
    }
  }
  found.all = python <= kFramesWithLoops;
  return found;
}

}  // namespace

std::optional<LeftLoop> left_loop(const JobView& view,
                                  const RankView& rank,
                                  const RankView& inside) {
  const LoopedFrames own = looped_frames(view, rank);
  for (const LoopedFrame& looped : looped_frames(view, inside).frames) {
    if (looped.loops == 0) {
      continue;
    }
    const bool left = std::ranges::any_of(own.frames, [&looped](const LoopedFrame& one) {
      return one.frame.function == looped.frame.function && one.frame.file == looped.frame.file &&
             one.loops < looped.loops && one.frame.line > looped.frame.line;
    });
    if (left) {
      const bool in_none =
          std::ranges::all_of(own.frames, [](const LoopedFrame& one) { return one.loops == 0; });
      return LeftLoop{view.model().shown(looped.id).place(), own.all && in_none};
    }
  }
  return std::nullopt;
}

}  // namespace oddrank::aggregate
