// The verdict that flight recorders alone allow. They do not know what a rank does outside of
// collectives: the verdict names the ranks that have not called what the others wait in, and leaves
// the reason open.
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

}  // namespace oddrank::aggregate
