#include "stacks/merge.h"

#include <numeric>
#include <utility>

namespace oddrank::stacks {
namespace {

using snapshot::Frame;
using snapshot::MergeState;

// Python frames that share one evaluation loop: [begin, end) of the Python stack, the entry frame
// last.
struct Group {
  std::size_t begin = 0;
  std::size_t end = 0;
};

struct Groups {
  std::vector<Group> groups;
  bool open = false;  // the last one has no entry frame: the Python stack was cut there
};

Groups group_by_entry(const std::vector<Frame>& python) {
  Groups result;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < python.size(); ++i) {
    if ((python[i].flags & snapshot::kEntry) != 0) {
      result.groups.push_back({begin, i + 1});
      begin = i + 1;
    }
  }
  if (begin < python.size()) {
    result.groups.push_back({begin, python.size()});
    result.open = true;
  }
  return result;
}

std::size_t count_evaluations(const std::vector<Frame>& native) {
  std::size_t count = 0;
  for (const Frame& frame : native) {
    count += (frame.flags & snapshot::kEvaluation) != 0 ? 1 : 0;
  }
  return count;
}

// Returns whether the counts match. Incomplete stacks match as far as they go: both begin at the
// innermost frame.
bool fits(std::size_t evaluations, const Groups& python, bool native_complete) {
  if (evaluations < python.groups.size()) {
    return !native_complete;
  }
  return evaluations == python.groups.size() || python.open || !native_complete;
}

std::vector<std::size_t> counting(std::size_t size) {
  std::vector<std::size_t> numbers(size);
  std::iota(numbers.begin(), numbers.end(), std::size_t{0});
  return numbers;
}

MergedFrames interleave(const std::vector<Frame>& native,
                        const std::vector<Frame>& python,
                        const Groups& groups) {
  MergedFrames merged;
  merged.state = MergeState::kMerged;
  merged.frames.reserve(native.size() + python.size());
  const auto take = [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      merged.python_index.push_back(merged.frames.size());
      merged.frames.push_back(python[i]);
    }
  };
  std::size_t next = 0;
  for (const Frame& frame : native) {
    const bool evaluation = (frame.flags & snapshot::kEvaluation) != 0;
    if (evaluation && next < groups.groups.size()) {
      take(groups.groups[next].begin, groups.groups[next].end);
      ++next;
    }
    merged.frames.push_back(frame);
  }
  // The rest are callers whose native frames were not reached.
  if (next < groups.groups.size()) {
    take(groups.groups[next].begin, python.size());
  }
  return merged;
}

}  // namespace

MergedFrames merge(std::vector<Frame> native, std::vector<Frame> python, bool native_complete) {
  MergedFrames merged;
  if (python.empty()) {
    merged.state = MergeState::kNativeOnly;
    merged.frames = std::move(native);
    return merged;
  }
  if (native.empty()) {
    merged.state = MergeState::kPythonOnly;
    merged.python_index = counting(python.size());
    merged.frames = std::move(python);
    return merged;
  }
  const Groups groups = group_by_entry(python);
  if (fits(count_evaluations(native), groups, native_complete)) {
    return interleave(native, python, groups);
  }
  merged.state = MergeState::kMismatch;
  merged.python_index = counting(python.size());
  merged.frames = std::move(native);
  merged.python_frames = std::move(python);
  return merged;
}

}  // namespace oddrank::stacks
