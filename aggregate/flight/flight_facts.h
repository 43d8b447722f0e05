// What the flight recorders of a capture tell, as plain data: the progress of each group, waits and
// mismatches; and whether they show the same hang as its stacks. The engine decides
// (verdict_engine.h), even if there is nothing else (JobView::only_recorded).
//
// The waits between ranks that flight recorders show, as facts for the wait graph: a rank whose
// call has not ended waits for the members of the group that have not made that call; a send waits
// for its receive, and the converse.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "aggregate/flight/flight_job.h"
#include "aggregate/flight/flight_mismatch.h"
#include "snapshot/capture.h"
#include "snapshot/collective_call.h"

namespace oddrank::aggregate {

// A call that has not ended on some ranks, and the members that have not made it.
struct FlightWait {
  std::vector<std::int32_t> waiters;
  std::vector<std::int32_t> absent;   // known not to have made it
  std::vector<std::int32_t> unknown;  // no dump, or a dump that does not reach that far
  snapshot::CallKind kind = snapshot::CallKind::kCollective;
  std::string op;  // "all_reduce"
  std::string on;  // "all_reduce #11 in group tp (1) {4-7}"
  std::string evidence;
  std::size_t group = 0;       // index into FlightJob::groups
  std::int64_t sequence = -1;  // -1: a send or receive
};

// Returns the waits, those with the most waiters first.
std::vector<FlightWait> find_flight_waits(const FlightJob& job);

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
// ranks wait for has stood still for long (snapshot/flight_record.h) on a rank that is still at the
// same place. Otherwise they may be from a time when the job was well. False without dumps, true if
// there is nothing else.
bool is_current(const JobView& view);

// Returns whether all calls were read from the ranks' memory, beside their stacks.
bool is_from_memory(const FlightFacts& facts);

}  // namespace oddrank::aggregate
