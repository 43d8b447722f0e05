// For rules that compare the calls of ranks: if numbers and majorities accuse two sides alike, each
// rank's own past may tell which rank has changed its ways or left out a transfer.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

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
// receive, if the recorded calls prove it (flight/left_out_transfer.h); nullopt if they prove it
// for no rank, or for several.
std::optional<Finding> left_out_transfer(const RuleInput& input,
                                         const std::vector<std::size_t>& circle);

}  // namespace oddrank::aggregate
