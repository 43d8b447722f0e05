// What the flight recorders of a capture tell, as plain data: the progress of each group, waits and
// mismatches; and whether they show the same hang as its stacks. The engine decides
// (verdict_engine.h), even if there is nothing else (JobView::only_recorded).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "aggregate/flight/flight_job.h"
#include "aggregate/flight/flight_mismatch.h"
#include "aggregate/flight/flight_waits.h"
#include "snapshot/capture.h"

namespace oddrank::aggregate {

class JobView;

struct FlightFacts {
  FlightJob job;
  std::vector<FlightWait> waits;
  std::vector<FlightMismatch> mismatches;
};

// Returns nullopt if the capture has no dumps. Borrows the capture.
std::optional<FlightFacts> flight_facts(const snapshot::Capture& capture);

// Returns the ranks that are members of groups and gave no dump, ascending.
std::vector<std::int32_t> ranks_without_dump(const FlightFacts& facts);

// Returns whether the dumps show the present: all were written within two minutes, and a call that
// ranks wait for has stood still for long (snapshot/flight_calls.h) on a rank that is still at the
// same place. Otherwise they may be from a time when the job was well. False without dumps, true if
// there is nothing else.
bool is_current(const JobView& view);

// Returns whether all calls were read from the ranks' memory, beside their stacks.
bool is_from_memory(const FlightFacts& facts);

}  // namespace oddrank::aggregate
