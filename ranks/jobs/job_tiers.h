// Which of several jobs on a node train. A SLURM job has steps beside its training: a monitor, a
// `sleep` that keeps a shell open, a debugger. They carry the numbers of tasks as ranks do, and may
// have more tasks than the training has, so their number says nothing. What a job's processes are
// says it. Private to ranks/.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "ranks/process_tree.h"
#include "ranks/rank_tree.h"

namespace oddrank::ranks {

// Returns which of the candidates must have their activity read before drop_side_jobs is called:
// none if all candidates are of one job that is not to be judged (training_only), or if their
// variables show what they are.
std::vector<std::size_t> conducts_of_jobs(const ProcessTree& tree,
                                          const DiscoverOptions& options,
                                          const std::vector<std::size_t>& candidates);

// Removes the candidates of jobs that do not train, if another job does, and returns them. Training
// has a library of collectives, a group, or RANK. If no job has any of these, jobs of Python
// programs go before others, and steps of one task count only if there is nothing else. Jobs that
// look alike are all kept.
std::vector<std::size_t> drop_side_jobs(const ProcessTree& tree,
                                        const DiscoverOptions& options,
                                        std::vector<std::size_t>& candidates);

// Returns "slurm 7.1 (4 processes: sleep)" for the processes of side jobs; one text a job.
std::vector<std::string> side_job_words(const ProcessTree& tree,
                                        const std::vector<std::size_t>& processes);

}  // namespace oddrank::ranks
