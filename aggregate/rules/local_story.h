// What holds a rank up at its own place, seen without the others: one kind a rank, the first that
// applies of an ordered table. The rules ask for it, so that no two of them claim one rank.
#pragma once

#include <cstddef>
#include <vector>

#include "aggregate/rules/rule.h"

namespace oddrank::aggregate {

// kSkippedCollective: nothing special, it is in code of its own. kUnknown: not read, or it may wait
// for one that was not.
Kind local_story(const RuleInput& input, std::size_t at);

// State T or t, or frozen by its cgroup (which the letter does not show).
bool is_held_still(const JobView& view, const RankView& rank);
bool is_frozen(const JobView& view, const RankView& rank);

// Suspects with this story.
std::vector<std::size_t> suspects_with(const RuleInput& input, Kind story);

// The child that the rank waits for is dead, on a lock that nobody alive will release, stands still
// while the rank is in vfork() for it, or writes to the rank that waits for its end; null if not
// so. May be a zombie among the children of a rank that waits for its input.
const snapshot::ProcessCapture* doomed_child(const RuleInput& input, const RankView& rank);

}  // namespace oddrank::aggregate
