// The past of a rank, by its flight recorder. What a training program calls repeats with each step,
// so the calls before show what the rank would have called next.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "aggregate/flight/flight_job.h"

namespace oddrank::aggregate {

// What repeats from step to step.
struct CallKey {
  snapshot::StringId op{};
  std::size_t group = FlightJob::kNoGroup;
  std::int32_t peer = -1;  // global rank; -1: a collective, or unknown
  snapshot::StringId place{};

  // NOLINTNEXTLINE(modernize-use-nullptr): version 14 takes the 0 that it compares with for one
  auto operator<=>(const CallKey&) const = default;
  bool is_like(const CallKey& other) const;  // equal, at whatever place
};

struct PastCall {
  CallKey key;
  const FlightEntry* entry = nullptr;
};

// Returns the newest calls that were kept one after another, oldest first, and not more than
// `most`: a capture keeps more calls of one group than of another, so what it has of older times
// has gaps. `record`: an index into FlightJob::records.
std::vector<PastCall> newest_calls(const FlightJob& job, std::size_t record, std::size_t most);

// A stretch of calls that repeats.
struct Repeat {
  std::size_t end = 0;     // the index behind its last call
  std::size_t period = 0;  // calls of a step
  std::size_t run = 0;     // calls before `end` that are those a period before
};

// Returns the smallest period that most of the calls keep, up to the last step, in which a rank may
// have left it. What repeats only within a step (microbatches) does not make up most of the calls.
// `with_sizes`: calls of other sizes are others, such as the buckets of gradients.
std::optional<Repeat> repeat_of(const std::vector<PastCall>& calls, bool with_sizes);

}  // namespace oddrank::aggregate
