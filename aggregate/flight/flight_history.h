// The rings as histories. What a training program calls repeats with each step, so a rank's own
// past shows what it would have called next: where two ranks' calls contradict each other, the one
// that has left its own pattern deviates, although numbers alone accuse both.
#pragma once

#include <cstdint>
#include <vector>

#include "aggregate/flight/call_history.h"
#include "aggregate/flight/flight_job.h"

namespace oddrank::aggregate {

// Returns those of the ranks whose last call is not the one that their own past foretells, if at
// least as many others made theirs as foretold; empty if that cannot be told. A past foretells only
// if the kept calls repeat, operation, group and place, for two periods at least.
std::vector<std::int32_t> left_own_pattern(const FlightJob& job,
                                           const std::vector<std::int32_t>& ranks);

// Returns whether the rank's last call, at its place, is none of those that it has made before,
// while the one before it repeats: the rank is past what repeats, and has not only changed the
// order.
bool is_past_pattern(const FlightJob& job, std::int32_t rank);

// Returns the last calls of these ranks, and after them those of the others; ranks with equal calls
// are one row. Empty if the calls were not kept.
std::vector<CallHistory> histories_of(const FlightJob& job, const std::vector<std::int32_t>& ranks);

}  // namespace oddrank::aggregate
