// Which processes have nothing to do, and which only rest between the turns of a loop.
#pragma once

#include "aggregate/view/job_view.h"

namespace oddrank::aggregate {

// Returns whether the process has no work: it only waits for requests.
bool has_no_work(const JobView& view, const RankView& rank);

// Returns whether the process was seen asleep in a loop that does something else, too, and that
// only an exception ends: it waits for nothing.
bool takes_turns(const JobView& view, const RankView& rank);

// Returns whether the process waits for nothing but other processes to end.
bool waits_for_ends(const RankView& rank);

// Returns whether it was seen to wait for a short time again and again in such a loop. Nothing
// after the loop needs what it waits for: that is work, and no answer that somebody owes.
bool waits_in_turns(const RankView& rank);

// Returns whether it sleeps for a time that its program has set, and asks for nothing in between.
bool sleeps_for_set_time(const JobView& view, const RankView& rank);

// Returns whether nothing but its main program is at work in the process: no other thread is in the
// program's own code, in a call or in a function for a caller, and no coroutine waits.
bool does_nothing_beside(const JobView& view, const RankView& rank);

}  // namespace oddrank::aggregate
