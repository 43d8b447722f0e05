#include "stacks/greenlets.h"

#include <algorithm>

#include "base/base_name.h"

namespace oddrank::stacks {

using snapshot::Frame;

std::optional<std::vector<Frame>> apart_from_parked(std::vector<Frame> native,
                                                    snapshot::Tables& tables) {
  const auto starts = [&tables](const Frame& frame) {
    return base_name(tables.text(frame.file)).starts_with("_greenlet.");
  };
  const auto start = std::find_if(native.begin(), native.end(), starts);
  const auto parked = std::find_if(start, native.end(), [](const Frame& frame) {
    return (frame.flags & snapshot::kEvaluation) != 0;
  });
  if (parked == native.end()) {
    return std::nullopt;
  }
  for (auto frame = parked; frame != native.end(); ++frame) {
    frame->flags &= static_cast<std::uint8_t>(~snapshot::kEvaluation);
  }
  Frame mark;
  mark.kind = snapshot::FrameKind::kPython;
  mark.function = tables.string("<parked greenlets>");
  native.insert(parked, mark);
  return native;
}

}  // namespace oddrank::stacks
