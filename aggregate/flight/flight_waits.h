// The waits between ranks that flight recorders show, as facts for the wait graph: a rank whose
// call has not ended waits for the members of the group that have not made that call; a send waits
// for its receive, and the converse.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "aggregate/flight/flight_job.h"
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

}  // namespace oddrank::aggregate
