// For rules that compare the calls of ranks: if numbers and majorities accuse two sides alike, each
// rank's own past may tell which rank has changed its ways or left out a transfer.
//
// Which end is at fault if a send or a receive waits for a counterpart that never comes. The counts
// of both ends do not tell: one made too few calls or the other too many. But the recorded calls of
// a pipeline repeat from step to step: the rank that left out the transfer fits its own past again
// as soon as that one call is put back.
//
// Needs two whole steps of the past. Calls that repeat only within a step (microbatches) end with
// the step, which is no fault; see `step_is_seen` in the source for the distinction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "aggregate/flight/flight_job.h"
#include "aggregate/rules/rule.h"

namespace oddrank::aggregate {

// Some of the ranks that are compared, and how they are known to deviate.
struct Deviation {
  std::vector<std::size_t> ranks;  // empty: unknown
  std::string how;                 // "; rank 1 has not called what its own calls before foretell"
};

// Returns the ranks that have left their own pattern (flight/flight_history.h).
Deviation left_their_pattern(const RuleInput& input, const std::vector<std::size_t>& ranks);

// Returns the ranks that have left the common order of most ranks' calls (evidence/common_order.h);
// none if that would be all.
Deviation left_common_order(const RuleInput& input, const std::vector<std::size_t>& ranks);

// Returns the ranks of the circle that every way round leads through; none if that would be all.
Deviation on_every_way(const RuleInput& input, const Circle& circle);

// Returns a finding (p2p_order) that names the rank of this circle that left out a send or a
// receive, if the recorded calls prove it; nullopt if they prove it
// for no rank, or for several.
std::optional<Finding> left_out_transfer(const RuleInput& input,
                                         const std::vector<std::size_t>& circle);

// A transfer that its partner waits for and that was left out.
struct LeftOutTransfer {
  std::int32_t rank = -1;     // which left it out
  std::int32_t partner = -1;  // which waits for it
  bool is_send = false;       // the rank left out a send; else a receive
  std::string group;          // "default group"
  std::string place;          // where the rank made it in the steps before; "" = unknown
  std::string waits_at;       // where the partner made the call that waits; "" = unknown
  std::int64_t number = -1;   // the partner's call is the n-th between the two; -1 = unknown
};

// Returns the left-out transfers among these ranks (global numbers) that are proven: the partner's
// call is open and is what its own past predicts; the rank has no open counterpart, went on after
// the gap, and fits its own past but for this call.
std::vector<LeftOutTransfer> left_out_transfers(const FlightJob& job,
                                                const std::vector<std::int32_t>& ranks);

}  // namespace oddrank::aggregate
