// Where numbers and majorities accuse two sides alike, each rank's own past may tell which has done
// something else than before, or has left out a transfer: for rules that compare the calls of
// ranks.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "aggregate/rules/rule.h"

namespace oddrank::aggregate {

// Some of the ranks that are compared, and how it is known that it is those.
struct Deviation {
  std::vector<std::size_t> ranks;  // empty: that cannot be told
  std::string how;                 // "; rank 1 has not called what its own calls before foretell"
};

// Returns those of the ranks that have left their own pattern (flight/flight_history.h).
Deviation left_their_pattern(const RuleInput& input, const std::vector<std::size_t>& ranks);

// Returns those of the ranks, but not all, that have left the order which the calls of most ranks
// have in common (evidence/common_order.h).
Deviation left_common_order(const RuleInput& input, const std::vector<std::size_t>& ranks);

// Returns those ranks of the circle, but not all, through which every way round leads.
Deviation on_every_way(const RuleInput& input, const Circle& circle);

// Returns the finding (p2p_order) that names the rank of this circle that left out a send or a
// receive for which another one waits, as the recorded calls prove (flight/left_out_transfer.h);
// nullopt if they prove it of no rank, or of several.
std::optional<Finding> left_out_transfer(const RuleInput& input,
                                         const std::vector<std::size_t>& circle);

}  // namespace oddrank::aggregate
