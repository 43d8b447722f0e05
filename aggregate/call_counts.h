// What the groups' own counts, or the flight recorder in the rank's memory, say about a rank that
// is not in a call: whether it has made it.
#pragma once

#include <cstdint>

#include "aggregate/view/job_view.h"
#include "snapshot/collective_call.h"

namespace oddrank::aggregate {

// Returns the number of the newest collective that the rank has made in the group of that call; -1
// if it is unknown, or if several backends of the group count calls.
std::int64_t newest_in_group(const RankView& rank, const snapshot::CollectiveCall& call);

// Returns whether the rank has made that call, which has a number: it holds nobody up there.
bool has_made(const RankView& rank, const snapshot::CollectiveCall& call);

}  // namespace oddrank::aggregate
