// Who waits for whom, as flight recorders tell it: a rank whose call has not ended waits for the
// members of the group that have not made that call; a send for its receive, and the converse.
//
// Calls are asynchronous: a rank may have one under way and stand still elsewhere. So a circle is
// told as one, and who began it is not.
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
  std::vector<std::int32_t> unknown;  // no dump, or it does not reach as far
  std::string on;                     // "all_reduce #11 in group tp (1) {4-7}"
  std::string evidence;
  std::size_t group = 0;       // of FlightJob::groups
  std::int64_t sequence = -1;  // -1: a send or receive
};

struct FlightWaits {
  std::vector<FlightWait> waits;                   // most waiters first
  std::vector<std::int32_t> roots;                 // waited for, and in no open call
  std::vector<std::vector<std::int32_t>> circles;  // that wait for each other
  std::vector<std::int32_t> unseen;                // waited for, and their dump is not there
};

FlightWaits find_flight_waits(const FlightJob& job);

}  // namespace oddrank::aggregate
