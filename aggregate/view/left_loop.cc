#include "aggregate/view/left_loop.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "aggregate/view/frame_model.h"

namespace oddrank::aggregate {
namespace {

// Loops are read of so many innermost Python frames (cpython/python_process.h).
constexpr std::size_t kFramesWithLoops = 6;

struct LoopedFrame {
  snapshot::Frame frame;
  snapshot::FrameId id{};
  std::size_t loops = 0;
};

// Returns the program's own frames whose loops were read, innermost first.
std::vector<LoopedFrame> looped_frames(const JobView& view, const RankView& rank) {
  std::vector<LoopedFrame> found;
  const snapshot::ThreadSample* sample = rank.sample();
  if (sample == nullptr) {
    return found;
  }
  const snapshot::Tables& tables = view.capture().tables;
  const bool apart = sample->python_stack != snapshot::StackId{};
  const auto& frames = tables.stack(apart ? sample->python_stack : sample->stack).frames;
  std::size_t python = 0;
  for (std::size_t i = 0; i < frames.size() && python < kFramesWithLoops; ++i) {
    const snapshot::Frame& frame = tables.frame(frames[i]);
    if (frame.kind != snapshot::FrameKind::kPython) {
      continue;
    }
    ++python;
    if (view.model().shown(frames[i]).user) {
      const auto& loops = rank.leader->loops;
      const auto count = std::count_if(loops.begin(), loops.end(),
                                       [i](const auto& loop) { return loop.frame == i; });
      found.push_back({frame, frames[i], static_cast<std::size_t>(count)});
    }
  }
  return found;
}

}  // namespace

std::optional<std::string> left_loop(const JobView& view,
                                     const RankView& rank,
                                     const RankView& inside) {
  const std::vector<LoopedFrame> own = looped_frames(view, rank);
  for (const LoopedFrame& looped : looped_frames(view, inside)) {
    if (looped.loops == 0) {
      continue;
    }
    const bool left = std::any_of(own.begin(), own.end(), [&looped](const LoopedFrame& one) {
      return one.frame.function == looped.frame.function && one.frame.file == looped.frame.file &&
             one.loops < looped.loops && one.frame.line > looped.frame.line;
    });
    if (left) {
      return view.model().shown(looped.id).place();
    }
  }
  return std::nullopt;
}

}  // namespace oddrank::aggregate
