// What the groups' own counts, and the flight recorder in the rank's memory, say about a call:
// whether a rank outside has already made it, and how long ago a rank inside entered it.
#pragma once

#include <cstdint>

#include "aggregate/view/job_view.h"
#include "snapshot/collective_call.h"

namespace oddrank::aggregate {

// Returns the number of the rank's newest collective in the group of `waiter`'s call; -1 if
// unknown. If several backends of the group count calls, the call's own backend counts.
std::int64_t newest_in_group(const RankView& rank, const RankView& waiter);

// Returns the number of collectives that the rank has made in one of its groups, finished or not;
// -1 if unknown, or if several backends count apart.
std::int64_t collectives_made_in(const RankView& rank, const snapshot::ProcessGroup& group);

// Returns whether the rank has already made `waiter`'s call, so that it holds no rank up there.
// False if the call has no number.
bool has_made(const RankView& rank, const RankView& waiter);

// Returns the age of that call when the rank's recorder was read; -1 if unknown, or if the call has
// no number.
std::int64_t age_of_call_ms(const RankView& rank, const snapshot::CollectiveCall& call);

}  // namespace oddrank::aggregate
