// Which of several jobs on a node train. A SLURM job has steps beside its training: a monitor, a
// `sleep` that keeps a shell open, a debugger. Their processes have task numbers like ranks, and
// may outnumber the training's. So the kind of a job's processes decides, not their number. Private
// to ranks/.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "ranks/process_tree.h"
#include "ranks/rank_tree.h"

namespace oddrank::ranks {

// Returns the candidates whose activity must be read before drop_side_jobs is called: none if all
// belong to one job and training_only is not set, or if their variables decide.
std::vector<std::size_t> conducts_of_jobs(const ProcessTree& tree,
                                          const DiscoverOptions& options,
                                          const std::vector<std::size_t>& candidates);

// Removes the candidates of jobs that do not train, if another job does, and returns them. Training
// has a library of collectives, a group, or RANK. If no job has any of these, jobs of Python
// programs win over others, and steps of one task count only if there is nothing else. Jobs that
// look alike are all kept.
std::vector<std::size_t> drop_side_jobs(const ProcessTree& tree,
                                        const DiscoverOptions& options,
                                        std::vector<std::size_t>& candidates);

// Returns "slurm 7.1 (4 processes: sleep)" for the processes of side jobs; one text a job.
std::vector<std::string> side_job_words(const ProcessTree& tree,
                                        const std::vector<std::size_t>& processes);

}  // namespace oddrank::ranks
