// What the dumps of flight recorders in a capture tell beside its stacks: the analysis of them all
// (analyze_flight.h), and whether they are of the hang that the stacks show.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "aggregate/flight/analyze_flight.h"
#include "aggregate/view/job_view.h"

namespace oddrank::aggregate {

// nullopt: the capture has none. Borrows the capture.
std::optional<FlightReport> analyze_flight_of(const snapshot::Capture& capture);

// All dumps were written within two minutes, and a call on which ranks wait stood still for long
// (snapshot/flight_calls.h), on a rank that still stands where it did. Otherwise they may be of an
// earlier time, when the job was well.
bool is_current(const FlightReport& report, const JobView& view);

// Whom the recorders accuse, though the stacks show them in a call of the very group in which they
// are said to be behind: then the dumps are older than what the stacks show. Ascending.
std::vector<std::int32_t> contradicted_by_stacks(const FlightReport& report, const JobView& view);

}  // namespace oddrank::aggregate
