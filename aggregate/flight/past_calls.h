// The past of a rank, by its flight recorder. What a training program calls repeats with each step,
// so earlier calls show what the rank should have called next.
//
// The last calls of ranks, as their flight recorders have them: shown for a rank that has left its
// own pattern, beside the calls of the others. Plain data.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "aggregate/flight/flight_job.h"

namespace oddrank::aggregate {

// What repeats from step to step.
struct CallKey {
  snapshot::StringId op{};
  std::size_t group = FlightJob::kNoGroup;
  std::int32_t peer = -1;  // global rank; -1: a collective, or unknown
  snapshot::StringId place{};

  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 takes the 0 of the comparison for null
  auto operator<=>(const CallKey&) const = default;
  bool is_like(const CallKey& other) const;  // equal but for the place
};

struct PastCall {
  CallKey key;
  const FlightEntry* entry = nullptr;
};

// Returns the newest calls without a gap, at most `most`, oldest first. Older calls have gaps,
// because a capture keeps more calls of one group than of another. `record`: an index into
// FlightJob::records.
std::vector<PastCall> newest_calls(const FlightJob& job, std::size_t record, std::size_t most);

// A stretch of calls that repeats.
struct Repeat {
  std::size_t end = 0;     // the index behind its last call
  std::size_t period = 0;  // calls of a step
  std::size_t run = 0;     // calls before `end` that equal those a period earlier
};

// Returns the smallest period that most of the calls keep; the last step is exempt, since a rank
// may have left the pattern there. What repeats only within a step (microbatches) is not most of
// the calls. `with_sizes`: calls of different sizes differ, such as the buckets of gradients.
std::optional<Repeat> repeat_of(const std::vector<PastCall>& calls, bool with_sizes);

struct HistoryCall {
  std::string op;
  std::string group;         // "default", or "group tp"
  std::string place;         // "train (train.py:61)"; "" = unknown
  std::int64_t number = -1;  // of collectives or of transfers within the group
  std::int32_t peer = -1;    // of a transfer: a rank within the group
  bool open = false;         // it has not ended

  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 takes the 0 of the comparison for null
  auto operator<=>(const HistoryCall&) const = default;
};

// Calls that these ranks have in common.
struct CallHistory {
  std::vector<std::int32_t> ranks;
  bool named = false;              // by the verdict
  bool earlier = false;            // there are calls before the first of these
  std::vector<HistoryCall> calls;  // oldest first
};

}  // namespace oddrank::aggregate
