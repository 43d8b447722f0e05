// A circle of ranks in which one has left out a send or a receive that another one waits for.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "aggregate/rules/rule.h"

namespace oddrank::aggregate {

// Returns the finding (p2p_order) that names the rank of this circle that left out a transfer, as
// the calls in the ranks' memory prove (flight/left_out_transfer.h); nullopt if they prove it of no
// rank, or of several.
std::optional<Finding> left_out_transfer(const RuleInput& input,
                                         const std::vector<std::size_t>& circle);

}  // namespace oddrank::aggregate
