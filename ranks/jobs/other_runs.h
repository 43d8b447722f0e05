// Ranks of another run with the same address, of which some processes are still there. Private to
// ranks/.
//
// If a run has lost its first rank, the next run can use its port while other ranks of the old run
// hang; and runs of a sweep have the same variables. Two processes that are both rank 1
// (rank_claims.h) never belong to one run, even if everything that names it is the same. Ranks that
// ran together are known by their parents and start times.
#pragma once

#include <cstddef>
#include <vector>

#include "ranks/process_tree.h"
#include "ranks/rank_tree.h"

namespace oddrank::ranks {

// Renames all runs of a job but one, with what they have started. The run that keeps the name has
// most of the processes that the options name, if any; else the most ranks; else it is the newest.
// A renamed run that lacks ranks is not a job: its processes are removed from the candidates and
// returned. `candidates`: indices of the processes that may be ranks.
std::vector<std::size_t> drop_other_runs(ProcessTree& tree,
                                         const DiscoverOptions& options,
                                         std::vector<std::size_t>& candidates);

}  // namespace oddrank::ranks
