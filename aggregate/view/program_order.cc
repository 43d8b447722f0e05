#include "aggregate/view/program_order.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace oddrank::aggregate {
namespace {

using snapshot::FramePlace;

// Compares the turns of the loops that both are in.
ProgramOrder order_of_turns(const PlacedFrame& first, const PlacedFrame& second) {
  const auto& a = first.place->turns;
  const auto& b = second.place->turns;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()) && a[i].line == b[i].line; ++i) {
    if (a[i].left < 0 || b[i].left < 0) {
      return ProgramOrder::kUnknown;
    }
    if (a[i].left != b[i].left) {
      return a[i].left > b[i].left ? ProgramOrder::kBehind : ProgramOrder::kAhead;
    }
  }
  return ProgramOrder::kSame;
}

bool is_behind(const PlacedFrame& first, const PlacedFrame& second) {
  const std::uint32_t line = first.frame->line;
  return std::ranges::any_of(second.place->passed, [line](const snapshot::LineRange& range) {
    return range.first <= line && line <= range.last;
  });
}

}  // namespace

ProgramPlace place_in_program(const JobView& view, const RankView& rank) {
  ProgramPlace found;
  const snapshot::ThreadSample* sample = rank.sample();
  if (sample == nullptr || rank.decider == nullptr) {
    return found;
  }
  const snapshot::Tables& tables = view.capture().tables;
  const auto& frames = tables.stack(sample->python_frames()).frames;
  for (std::size_t i = frames.size(); i-- > 0;) {
    const snapshot::Frame& frame = tables.frame(frames[i]);
    if (frame.kind == snapshot::FrameKind::kPython) {
      const auto& places = rank.decider->places;
      const auto* place = std::ranges::find(places, i, &FramePlace::frame);
      found.push_back({&frame, place == places.end() ? nullptr : place});
    }
  }
  return found;
}

ProgramOrder program_order(const ProgramPlace& a, const ProgramPlace& b) {
  std::size_t i = 0;
  for (; i < std::min(a.size(), b.size()); ++i) {
    if (a[i].place == nullptr || b[i].place == nullptr) {
      break;
    }
    if (a[i].frame->function != b[i].frame->function || a[i].frame->file != b[i].frame->file) {
      return ProgramOrder::kUnknown;
    }
    const bool same_line = a[i].frame->line == b[i].frame->line;
    const bool behind = !same_line && is_behind(a[i], b[i]);
    const bool ahead = !same_line && is_behind(b[i], a[i]);
    const ProgramOrder turns = order_of_turns(a[i], b[i]);
    if (turns == ProgramOrder::kUnknown && !same_line && !behind && !ahead) {
      return ProgramOrder::kApart;
    }
    if (turns != ProgramOrder::kSame) {
      return turns;
    }
    if (!same_line) {
      return behind && ahead ? ProgramOrder::kUnknown
             : behind        ? ProgramOrder::kBehind
             : ahead         ? ProgramOrder::kAhead
                             : ProgramOrder::kApart;
    }
  }
  const bool all_read =
      (i == a.size() || a[i].place == nullptr) && (i == b.size() || b[i].place == nullptr);
  return i > 0 && all_read ? ProgramOrder::kSame : ProgramOrder::kUnknown;
}

}  // namespace oddrank::aggregate
