// What the flight recorders of a capture tell, as plain data: the progress of each group, waits and
// mismatches; and whether they show the same hang as its stacks. They are facts: the engine decides
// (verdict_engine.h), also where there is nothing else (JobView::only_recorded).
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

// Some ranks are members of groups, and gave no dump: ascending.
std::vector<std::int32_t> ranks_without_dump(const FlightFacts& facts);

// Returns whether all dumps were written within two minutes, and a call that ranks wait for stood
// still for long (snapshot/flight_calls.h) on a rank that is still in the same place. Otherwise the
// dumps may be from an earlier time, when the job was well. False if the view has none, true if it
// has nothing else.
bool is_current(const JobView& view);

// Returns whether all calls were read from the ranks' memory, beside their stacks.
bool is_from_memory(const FlightFacts& facts);

}  // namespace oddrank::aggregate
