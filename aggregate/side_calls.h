// Calls that only threads beside the deciders are in: the metrics thread's barrier, a checkpoint
// writer's gather in a group of its own. They hold no rank up, so they accuse none; but a member
// that is missing there may explain what is seen later.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "aggregate/view/job_view.h"

namespace oddrank::aggregate {

inline constexpr std::size_t kMaxSideCalls = 3;

// Returns "beside the main threads, threads of ranks 0-1,3 have waited in barrier in group 4 {0-3}
// for 31 s; rank 2 is not in it": about calls that have stood still for long, whose members are
// known and were read, if one of the members is missing. The first kMaxSideCalls; the others are
// counted.
std::vector<std::string> side_call_notes(const JobView& view);

}  // namespace oddrank::aggregate
