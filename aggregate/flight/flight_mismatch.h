// Calls with one number in one group that do not match: another operation, another size or type.
// The majority is taken to be right; on a tie both sides are named.
//
// What may differ is not compared: shapes of equal size, sizes of uneven collectives, what only the
// root has, and states (to be ahead is no fault).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "aggregate/flight/flight_job.h"

namespace oddrank::aggregate {

struct FlightSide {
  std::vector<std::int32_t> ranks;
  std::string call;   // "all_reduce of [4] Float -> [4] Float"
  std::string place;  // where the first of these ranks calls it; "" = unknown
};

struct FlightMismatch {
  std::size_t group = 0;  // index into FlightJob::groups
  std::int64_t sequence = 0;
  std::string what;               // "operation", "input size", "output size", "type"
  std::vector<FlightSide> sides;  // the largest first
  bool tie = false;
  // The smaller sides are one call ahead: the largest side makes their call next.
  bool skipped = false;
  // In addition, the smaller sides make the largest side's call next: their order differs, or they
  // are a whole step of two calls ahead.
  bool exchanged = false;

  // Returns the ranks whose call deviates: all of the smaller sides; on a tie, of all sides.
  std::vector<std::int32_t> deviating() const;
};

// Returns, for each group, the first mismatch whose call has not ended on every rank.
std::vector<FlightMismatch> find_mismatches(const FlightJob& job);

}  // namespace oddrank::aggregate
