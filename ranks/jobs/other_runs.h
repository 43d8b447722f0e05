// Ranks that are left of another run with the same address. Private to ranks/.
//
// If a run has lost its first rank, the next run can use its port while other ranks of the old run
// hang; and runs of a sweep have the same variables. Two processes that are both rank 1
// (rank_claims.h) never belong to one run, even if all names of the run are the same. Ranks that
// ran together are known by their parents and start times.
#pragma once

#include <cstddef>
#include <vector>

#include "ranks/process_tree.h"
#include "ranks/rank_tree.h"

namespace oddrank::ranks {

// Renames all runs of a job but one, with the processes that they have started. The run with most
// of the processes that the options name keeps the job's name; else the one with the most ranks;
// else the newest. A renamed run that lacks ranks is not a job: its processes are removed from the
// candidates and returned. `candidates`: indices of the processes that may be ranks.
std::vector<std::size_t> drop_other_runs(ProcessTree& tree,
                                         const DiscoverOptions& options,
                                         std::vector<std::size_t>& candidates);

}  // namespace oddrank::ranks
