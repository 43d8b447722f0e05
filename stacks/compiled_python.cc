#include "stacks/compiled_python.h"

#include <algorithm>
#include <utility>

namespace oddrank::stacks {

using snapshot::Frame;

std::optional<MergedFrames> merge_compiled(std::vector<Frame> native,
                                           std::vector<Frame> python,
                                           snapshot::Tables& tables) {
  const auto is_native = [](const Frame& frame) {
    return frame.kind == snapshot::FrameKind::kNative;
  };
  Frame mark;
  mark.kind = snapshot::FrameKind::kPython;
  mark.function = tables.string("<compiled Python>");
  mark.flags = snapshot::kEvaluation;  // it takes the place of the loop that is not there
  native.push_back(mark);
  MergedFrames merged = merge(std::move(native), std::move(python), true);
  if (merged.state != snapshot::MergeState::kMerged) {
    return std::nullopt;
  }
  // After the native frames and the Python frames of loops come the Python frames without a loop,
  // then the mark, which belongs in front of them.
  merged.frames.pop_back();
  if (merged.frames.empty() || is_native(merged.frames.back())) {
    return std::nullopt;  // there are enough loops
  }
  const auto last = std::find_if(merged.frames.rbegin(), merged.frames.rend(), is_native);
  const auto index = static_cast<std::size_t>(merged.frames.rend() - last);
  mark.flags = 0;
  merged.frames.insert(last.base(), mark);
  for (std::size_t& place : merged.python_index) {
    place += place >= index ? 1 : 0;
  }
  return merged;
}

}  // namespace oddrank::stacks
