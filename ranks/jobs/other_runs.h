// Ranks of another run of a job: it had the same address, and some of its processes are still
// there. Private to ranks/.
//
// A run that has lost its first rank leaves its port to the next one, while others of its ranks
// hang; runs of a sweep have the same variables. Two processes that are both rank 1 (rank_claims.h)
// are never of one job, though all that names it is the same. Which ranks ran together is told by
// who started them, and when.
#pragma once

#include <cstddef>
#include <vector>

#include "ranks/process_tree.h"
#include "ranks/rank_tree.h"

namespace oddrank::ranks {

// Renames all runs of a job but one, with what they have started. The run that keeps the name is
// the one with most of the processes that the options name, if any; else the one with the most
// ranks; else the newest. A renamed run that lacks ranks is no job: its processes are removed from
// the candidates and returned. `candidates`: indices of the processes that may be ranks.
std::vector<std::size_t> drop_other_runs(ProcessTree& tree,
                                         const DiscoverOptions& options,
                                         std::vector<std::size_t>& candidates);

}  // namespace oddrank::ranks
