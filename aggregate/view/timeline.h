// What ranks did at each look and between the looks: where their leader threads stood, in which
// state, what they used of the CPU and how often they woke. Ranks of one group that did the same
// are one row; those that moved are rows apart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "aggregate/view/groups.h"
#include "aggregate/view/job_view.h"

namespace oddrank::aggregate {

// Where somebody stood. Ranks stand at the same place if their folded stacks are equal.
struct TimelinePlace {
  const snapshot::ThreadSample* sample = nullptr;  // one that stood there
  std::string words;                               // "load_shard (demo/data.py:55)"; may be empty
};

struct TimelineLook {
  std::size_t place = 0;  // of Timeline::places
  std::string states;     // letters of the ranks, each once: "S", "RS"
};

struct TimelineRange {
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t most = 0;

  void add(std::uint64_t value);
};

struct TimelineStep {  // between two looks
  TimelineRange cpu_us;
  TimelineRange wakes;  // voluntary context switches
};

struct TimelineRow {
  std::vector<std::size_t> ranks;   // indices of JobView::ranks(), ascending
  std::size_t group = 0;            // of find_groups()
  bool moved = false;               // elsewhere, or in another state, at one of its looks
  std::vector<TimelineLook> looks;  // the last kMostLooks; fewer than others: of the last ones
  std::vector<TimelineStep> steps;  // one fewer than looks
};

struct Timeline {
  static constexpr std::size_t kMostLooks = 12;

  std::size_t looks = 0;  // the most that a rank was looked at
  std::vector<TimelinePlace> places;
  std::vector<TimelineRow> rows;  // by group; within one, those that stood still, then the largest

  bool all_still() const;  // nobody moved
  // Nobody moved, used any CPU or woke.
  bool all_equal() const;
};

// `groups`: find_groups(view). Ranks of which no thread was read are in no row.
Timeline build_timeline(const JobView& view, const std::vector<Group>& groups);

}  // namespace oddrank::aggregate
