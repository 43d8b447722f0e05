// Ranks that wait within their own process: those that only look again and again whether something
// has come, and those whose wait nobody in the process can end.
#pragma once

#include <cstddef>
#include <vector>

#include "aggregate/rules/rule.h"

namespace oddrank::aggregate {

// Returns those of the ranks (indices) that are held up by something which sleeps for a short time
// again and again, since long before its present sleep: it asks for something in between, be it by
// means that are not known as such. Keeps the order.
std::vector<std::size_t> short_sleepers_among(const RuleInput& input,
                                              const std::vector<std::size_t>& ranks);

// Returns whether nobody is left who could end the rank's wait: all threads of its process that run
// Python are at such locks. Precondition: the rank has a decider.
bool waits_in_vain(const RankView& rank);

}  // namespace oddrank::aggregate
