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

// Returns those of the ranks that have left their own pattern (flight/flight_history.h); empty if
// that cannot be told.
std::vector<std::size_t> left_their_pattern(const RuleInput& input,
                                            const std::vector<std::size_t>& ranks);

// Returns those of the ranks that have left the order which the calls of most ranks have in common
// (evidence/common_order.h); empty if that cannot be told, or if it is all of them.
std::vector<std::size_t> left_common_order(const RuleInput& input,
                                           const std::vector<std::size_t>& ranks);

// Returns "; by the numbers of calls in each group and the places in the program, rank 1 left the
// common order".
std::string common_order_words(const RuleInput& input, const std::vector<std::size_t>& ranks);

// Returns the finding (p2p_order) that names the rank of this circle that left out a send or a
// receive for which another one waits, as the recorded calls prove (flight/left_out_transfer.h);
// nullopt if they prove it of no rank, or of several.
std::optional<Finding> left_out_transfer(const RuleInput& input,
                                         const std::vector<std::size_t>& circle);

// Returns "; rank 1 has not called what its own calls before foretell".
std::string pattern_words(const RuleInput& input, const std::vector<std::size_t>& ranks);

}  // namespace oddrank::aggregate
