// Which end of a send and a receive is at fault, if one of them waits for the other that never
// comes. Counts of two ends do not tell: either the one made too few or the other too many. The
// recorded calls of a pipeline repeat from step to step, so each rank's own past does: the end that
// left out the transfer fits its past again as soon as that one call is put back.
//
// Needs two whole steps of the past. What only repeats within a step (the microbatches) ends when
// the step ends, which is no fault; see `step_is_seen` in the source for how the two are told
// apart.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "aggregate/flight/flight_job.h"

namespace oddrank::aggregate {

// A transfer that its partner waits for and that was left out.
struct LeftOutTransfer {
  std::int32_t rank = -1;     // which left it out
  std::int32_t partner = -1;  // which waits for it
  bool is_send = false;       // the rank left out a send; else a receive
  std::string group;          // "default group"
  std::string place;          // where the rank made it in the steps before; "" = unknown
  std::string waits_at;       // where the partner made the call that waits; "" = unknown
  std::int64_t number = -1;   // of the partner's call: the n-th between the two; -1 = unknown
};

// Returns the transfers among these ranks (global numbers) of which that is proven: the partner's
// call is open and is what its own past foretells, the rank has no open counterpart, it goes on
// behind the gap, and its calls fit its past but for this one.
std::vector<LeftOutTransfer> left_out_transfers(const FlightJob& job,
                                                const std::vector<std::int32_t>& ranks);

}  // namespace oddrank::aggregate
