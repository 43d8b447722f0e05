// What the groups' own counts, and the flight recorder in the rank's memory, say about a call:
// whether a rank that is not in it has made it, and how long ago a rank that is in it did.
#pragma once

#include <cstdint>

#include "aggregate/view/job_view.h"
#include "snapshot/collective_call.h"

namespace oddrank::aggregate {

// Returns the number of the newest collective that the rank has made in the group of the call that
// `waiter` is in; -1 if it is unknown. If several backends of the group count calls, those of the
// call's own count.
std::int64_t newest_in_group(const RankView& rank, const RankView& waiter);

// Returns the number of collectives that the rank has made in a group of its own, finished or not;
// -1 if it is unknown, or if several backends count apart.
std::int64_t collectives_made_in(const RankView& rank, const snapshot::ProcessGroup& group);

// Returns whether the rank has made the call that `waiter` is in, and which has a number: it holds
// nobody up there.
bool has_made(const RankView& rank, const RankView& waiter);

// Returns how many milliseconds before its recorder was read the rank made that call, which has a
// number; -1 if it is unknown.
std::int64_t age_of_call_ms(const RankView& rank, const snapshot::CollectiveCall& call);

}  // namespace oddrank::aggregate
