// What the flight-recorder dumps in a capture add to its stacks: the analysis of all dumps
// (analyze_flight.h), and whether they show the same hang as the stacks.
#pragma once

#include <optional>

#include "aggregate/flight/analyze_flight.h"
#include "aggregate/view/job_view.h"

namespace oddrank::aggregate {

// Returns nullopt if the capture has no dumps. Borrows the capture.
std::optional<FlightReport> analyze_flight_of(const snapshot::Capture& capture);

// Returns whether all dumps were written within two minutes, and a call that ranks wait for stood
// still for long (snapshot/flight_calls.h) on a rank that is still in the same place. Otherwise the
// dumps may be from an earlier time, when the job was well.
bool is_current(const FlightReport& report, const JobView& view);

// Returns whether all calls were read from the ranks' memory, beside their stacks.
bool is_from_memory(const FlightReport& report);

}  // namespace oddrank::aggregate
