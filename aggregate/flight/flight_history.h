// The rings as histories. What a training program calls repeats with each step, so a rank's past
// calls show what it should have called next. If the calls of two ranks contradict each other,
// numbers alone accuse both; the rank that has left its own pattern deviates.
//
// Which step of its program each rank is in, by its own calls: a step is what repeats in them. The
// step's number is the number of the newest call divided by the calls of a step, so calls before
// the first step shift it. The distance between ranks is exact, and is given only for ranks that
// count the same calls. If a program makes equal calls several times a step, each time counts as a
// step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "aggregate/flight/flight_job.h"
#include "aggregate/flight/past_calls.h"

namespace oddrank::aggregate {

// Returns the ranks whose last call differs from what their own past predicts, if at least as many
// others made the predicted call; empty if unknown. The past predicts a call only if the kept calls
// repeat (operation, group and place) for at least two periods.
std::vector<std::int32_t> left_own_pattern(const FlightJob& job,
                                           const std::vector<std::int32_t>& ranks);

// Returns whether the rank made its last call, at that place, for the first time, and the call
// before it repeats: the rank is past its loop, and has not only changed the order.
bool is_past_pattern(const FlightJob& job, std::int32_t rank);

// Returns the last calls of these ranks, then of the others; ranks with equal calls are one row.
// Empty if the calls were not kept.
std::vector<CallHistory> histories_of(const FlightJob& job, const std::vector<std::int32_t>& ranks);

struct RankStep {
  std::int32_t rank = -1;
  std::string group;        // whose calls are counted: "default group"
  bool transfers = false;   // sends and receives are counted; else collectives
  std::int64_t calls = 0;   // in one step of the rank
  std::int64_t newest = 0;  // number of the newest of these calls
  std::int64_t step = 0;    // from 1 on
  std::int64_t behind = 0;  // whole steps behind the foremost rank that counts the same calls
};

// Returns a row for each rank whose calls repeat, by rank. The calls must have been read from
// memory, beside the stacks.
std::vector<RankStep> rank_steps(const FlightJob& job);

// Returns the rank's row of rank_steps(); null if it has none.
const RankStep* step_of(const std::vector<RankStep>& steps, std::int32_t rank);

}  // namespace oddrank::aggregate
