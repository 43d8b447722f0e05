// What ranks did in each sample and between samples: where their decider threads were, in which
// state, how much CPU they used and how often they woke. Ranks of one group that did the same are
// one row; those that moved have rows of their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "aggregate/view/groups.h"
#include "aggregate/view/job_view.h"

namespace oddrank::aggregate {

// A place where a rank was. Ranks are at the same place if their folded stacks are equal.
struct TimelinePlace {
  const snapshot::ThreadSample* sample = nullptr;  // one that was there
  std::string words;                               // "load_shard (demo/data.py:55)"; may be empty
};

struct TimelineSample {
  std::size_t place = 0;  // index into Timeline::places
  std::string states;     // letters of the ranks, each once: "S", "RS"
};

struct TimelineRange {
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t most = 0;

  void add(std::uint64_t value);
};

struct TimelineStep {  // between two samples
  TimelineRange cpu_us;
  TimelineRange wakes;  // voluntary context switches
};

struct TimelineRow {
  std::vector<std::size_t> ranks;  // indices of JobView::ranks(), ascending
  std::size_t group = 0;           // index into find_groups()
  bool moved = false;              // it was elsewhere, or in another state, in one of its samples
  std::vector<TimelineSample>
      samples;  // the last kMaxSamplesShown; a shorter row ends with the same sample
  std::vector<TimelineStep> steps;  // one fewer than samples
};

struct Timeline {
  static constexpr std::size_t kMaxSamplesShown = 12;

  std::size_t samples = 0;  // the largest number of samples of a rank
  std::vector<TimelinePlace> places;
  std::vector<TimelineRow>
      rows;  // by group; within one, those that stood still first, then the largest

  bool all_still() const;  // no rank moved
  // Returns whether no rank moved, used any CPU or woke.
  bool all_equal() const;
};

// Builds the timeline. `groups`: find_groups(view). Ranks without a thread that was read are in no
// row.
Timeline build_timeline(const JobView& view, const std::vector<Group>& groups);

}  // namespace oddrank::aggregate
