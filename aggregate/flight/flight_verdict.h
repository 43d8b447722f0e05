// The verdict that flight recorders alone allow. What a rank does outside of collectives they do
// not know: who has not called what the others wait in is named, why it has not is left open.
#pragma once

#include <vector>

#include "aggregate/flight/flight_job.h"
#include "aggregate/flight/flight_mismatch.h"
#include "aggregate/flight/flight_waits.h"
#include "aggregate/verdict.h"

namespace oddrank::aggregate {

Verdict decide_flight(const FlightJob& job,
                      const FlightWaits& waits,
                      const std::vector<FlightMismatch>& mismatches);

// "ranks 4,6-7", "rank 5".
std::string flight_ranks_words(const std::vector<std::int32_t>& ranks);

}  // namespace oddrank::aggregate
