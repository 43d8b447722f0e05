// The waits between ranks that flight recorders show: a rank whose call has not ended waits for the
// members of the group that have not made that call; a send waits for its receive, and the
// converse.
//
// Calls are asynchronous: a rank may have one under way and be stuck elsewhere. So a circle is
// reported as one, without naming a rank that began it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "aggregate/flight/flight_job.h"

namespace oddrank::aggregate {

// A call that has not ended on some ranks, and the members that have not made it.
struct FlightWait {
  std::vector<std::int32_t> waiters;
  std::vector<std::int32_t> absent;   // known not to have made it
  std::vector<std::int32_t> unknown;  // no dump, or a dump that does not reach that far
  std::string on;                     // "all_reduce #11 in group tp (1) {4-7}"
  std::string evidence;
  std::size_t group = 0;       // index into FlightJob::groups
  std::int64_t sequence = -1;  // -1: a send or receive
};

// Ranks that wait for each other.
struct FlightCircle {
  std::vector<std::int32_t> ranks;
  std::vector<std::int32_t> through;  // those through each of which every way round leads
};

struct FlightWaits {
  std::vector<FlightWait> waits;    // most waiters first
  std::vector<std::int32_t> roots;  // awaited, and in no open call
  std::vector<FlightCircle> circles;
  std::vector<std::int32_t> unseen;  // awaited, and without a dump
};

FlightWaits find_flight_waits(const FlightJob& job);

}  // namespace oddrank::aggregate
