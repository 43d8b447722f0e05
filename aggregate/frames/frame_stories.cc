// The part of FrameModel that finds frames of a story.
#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "aggregate/frames/frame_model.h"
#include "snapshot/collective_call.h"

namespace oddrank::aggregate {

using snapshot::Frame;
using snapshot::FrameId;
using snapshot::ThreadSample;

namespace {

// Returns whether the file is of the standard library: a program or a package may have a queue.py
// of its own.
bool is_standard(std::string_view file) {
  return file.find("/lib/python3") != std::string_view::npos &&
         file.find("/site-packages/") == std::string_view::npos &&
         file.find("/dist-packages/") == std::string_view::npos;
}

// Names have no class up to Python 3.10: a plain wait() is identified by the function that it
// calls. The wait() of events and barriers calls a condition's wait().
std::string_view words_around(std::string_view inner, const FramePattern& outer) {
  const bool plain = outer.file == "/threading.py" && outer.function == "wait$";
  if (outer.words.ends_with("threading.Barrier") && inner == "waits for a multiprocessing lock") {
    return "waits at a multiprocessing.Barrier";
  }
  return !plain || inner.empty()      ? outer.words
         : inner.ends_with("Barrier") ? inner
                                      : "waits for a threading.Event";
}

}  // namespace

std::optional<StoryHit> FrameModel::story(const ThreadSample& sample, Story story) {
  const auto [at, is_new] = stories_.try_emplace({sample.stack, sample.python_stack, story});
  if (is_new) {
    at->second = find_story(sample, story);
  }
  return at->second;
}

std::optional<StoryHit> FrameModel::innermost_story(const ThreadSample& sample, Story story) {
  const auto hit = this->story(sample, story);
  for (const FrameId id : hit ? all_frames(sample) : std::vector<FrameId>()) {
    if (id == hit->frame) {
      return hit;
    }
    if (known(id).shown.user) {
      break;
    }
  }
  return std::nullopt;
}

const FramePattern* FrameModel::tells(FrameId id, Story story) {
  const auto& stories = known(id).stories;
  const auto at = std::ranges::find(stories, story, &FramePattern::story);
  return at == stories.end() ? nullptr : *at;
}

std::optional<StoryHit> FrameModel::find_story(const ThreadSample& sample, Story story) {
  // Only whole stacks show whether native frames of a library are inside of a Python frame.
  const bool may_be_beside = story == Story::kCommunicates && reach(sample) == Reach::kWhole;
  bool beside = false;
  for (const FrameId id : called_frames(sample)) {
    const Frame& frame = tables_.frame(id);
    const bool is_python = frame.kind == snapshot::FrameKind::kPython;
    beside = beside || (may_be_beside && is_python &&
                        snapshot::runs_beside_call(known(id).shown.name, tables_.text(frame.file)));
    if (const FramePattern* pattern = tells(id, story)) {
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
        tells(id, Story::kGets) == nullptr) {
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
  return std::ranges::any_of(entry.stories, [pool](const FramePattern* pattern) {
    return pattern->story == Story::kRest ||
           (pattern->story == Story::kPool && pattern->words == pool);
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

std::string_view FrameModel::python_wait(const ThreadSample& sample) {
  std::string_view words;
  for (const FrameId id : all_frames(sample)) {
    const Frame& frame = tables_.frame(id);
    if (frame.kind != snapshot::FrameKind::kPython) {
      continue;
    }
    // A frame of any other file ends the search: beyond it, the library is no longer what waits.
    const FramePattern* wait = tells(id, Story::kWaits);
    if (wait == nullptr || !is_standard(tables_.text(frame.file))) {
      break;
    }
    // The outermost of these frames is the function that the program called.
    words = wait->words.empty() ? words : words_around(words, *wait);
  }
  return words;
}

}  // namespace oddrank::aggregate
