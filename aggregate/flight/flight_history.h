// The rings as histories. What a training program calls repeats with each step, so a rank's past
// calls show what it should have called next. If the calls of two ranks contradict each other,
// numbers alone accuse both; the rank that has left its own pattern deviates.
#pragma once

#include <cstdint>
#include <vector>

#include "aggregate/flight/call_history.h"
#include "aggregate/flight/flight_job.h"

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

}  // namespace oddrank::aggregate
