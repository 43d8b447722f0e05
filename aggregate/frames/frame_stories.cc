// The part of FrameModel that finds frames of a story.
#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "aggregate/frames/frame_model.h"
#include "base/ascii.h"
#include "snapshot/collective_call.h"

namespace oddrank::aggregate {

using snapshot::Frame;
using snapshot::FrameId;
using snapshot::ThreadSample;

namespace {

// Returns the patterns of one story, in the order of the table.
const std::vector<const StoryPattern*>& patterns_of(Story story) {
  constexpr std::size_t kStories = static_cast<std::size_t>(Story::kCommunicates) + 1;
  static const auto by_story = [] {
    std::array<std::vector<const StoryPattern*>, kStories> all;
    for (const StoryPattern& pattern : story_patterns()) {
      all[static_cast<std::size_t>(pattern.story)].push_back(&pattern);
    }
    return all;
  }();
  return by_story[static_cast<std::size_t>(story)];
}

}  // namespace

std::optional<StoryHit> FrameModel::story(const ThreadSample& sample, Story story) {
  const auto [at, is_new] = stories_.try_emplace({sample.stack, sample.python_stack, story});
  if (is_new) {
    at->second = find_story(sample, story);
  }
  return at->second;
}

bool FrameModel::is_reported_by(FrameId id, const StoryPattern& pattern) {
  const Frame& frame = tables_.frame(id);
  const Known& entry = known(id);
  return pattern.kind == frame.kind &&
         (pattern.library == snapshot::Library::kOther || pattern.library == entry.library) &&
         oddrank::contains(entry.shown.name, pattern.function) &&
         oddrank::contains(tables_.text(frame.file), pattern.file);
}

const StoryPattern* FrameModel::reported_by(FrameId id, Story story) {
  const auto& patterns = patterns_of(story);
  const auto at = std::ranges::find_if(
      patterns, [&](const StoryPattern* pattern) { return is_reported_by(id, *pattern); });
  return at == patterns.end() ? nullptr : *at;
}

std::optional<StoryHit> FrameModel::find_story(const ThreadSample& sample, Story story) {
  // Whether native frames of a library are inside of a Python one is known of whole stacks alone.
  const bool may_be_beside = story == Story::kCommunicates && reach(sample) == Reach::kWhole;
  bool beside = false;
  for (const FrameId id : called_frames(sample)) {
    const Frame& frame = tables_.frame(id);
    const bool is_python = frame.kind == snapshot::FrameKind::kPython;
    beside = beside || (may_be_beside && is_python &&
                        snapshot::runs_beside_call(known(id).shown.name, tables_.text(frame.file)));
    if (const StoryPattern* pattern = reported_by(id, story)) {
      return beside && is_python ? std::nullopt : std::optional(StoryHit{pattern, id});
    }
  }
  return std::nullopt;
}

bool FrameModel::works_inside(const ThreadSample& sample, const StoryHit& loop) {
  for (const FrameId id : all_frames(sample)) {
    if (id == loop.frame) {
      return false;
    }
    if (tables_.frame(id).kind == snapshot::FrameKind::kPython &&
        reported_by(id, Story::kGets) == nullptr) {
      return true;
    }
  }
  return false;
}

bool FrameModel::rests(FrameId id, std::string_view pool) {
  const Known& entry = known(id);
  if (entry.role == FrameRole::kLibc || entry.role == FrameRole::kThreadStart ||
      (entry.role == FrameRole::kInternal && !entry.unknown)) {
    return true;
  }
  return reported_by(id, Story::kRest) != nullptr ||
         std::ranges::any_of(patterns_of(Story::kPool), [&](const StoryPattern* pattern) {
           return pattern->words == pool && is_reported_by(id, *pattern);
         });
}

std::optional<StoryHit> FrameModel::idle_pool(const ThreadSample& sample) {
  const auto hit = story(sample, Story::kPool);
  if (!hit) {
    return std::nullopt;
  }
  const std::vector<FrameId> frames = called_frames(sample);
  const bool idle = std::ranges::all_of(
      frames, [this, &hit](FrameId id) { return rests(id, hit->pattern->words); });
  return idle ? hit : std::nullopt;
}

}  // namespace oddrank::aggregate
