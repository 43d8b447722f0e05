// What holds a rank up at its own place, seen without the others: one kind a rank, the first that
// applies of an ordered table. The rules ask for it, so that no two of them claim one rank.
#pragma once

#include <cstddef>
#include <vector>

#include "aggregate/rules/rule.h"

namespace oddrank::aggregate {

// kSkippedCollective: nothing special, it is in code of its own. kUnknown: not read.
Kind local_story(const RuleInput& input, std::size_t at);

// Suspects with this story.
std::vector<std::size_t> suspects_with(const RuleInput& input, Kind story);

// The child that the rank waits for is dead, or on a lock that nobody alive will release; null if
// not so. May be a zombie among the children of a rank that waits for its input.
const snapshot::ProcessCapture* doomed_child(const RuleInput& input, const RankView& rank);

}  // namespace oddrank::aggregate
