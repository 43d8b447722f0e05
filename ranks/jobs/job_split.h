// Tells jobs of one name apart. Private to ranks/.
//
// A job's name is what its launcher or its address says, and several jobs of a node may have the
// same: those of a sweep in one step of SLURM, and those in containers with networks of their own,
// whose ranks all meet at localhost:29500.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ranks/process_tree.h"

namespace oddrank::ranks {

using JobRank = std::pair<std::string, std::int32_t>;  // a job, and a rank of it

// Returns the candidates of each rank.
std::map<JobRank, std::vector<std::size_t>> by_rank(const ProcessTree& tree,
                                                    const std::vector<std::size_t>& candidates);

// Returns [index] -> the candidate that the process is, or that it stands below; kNoProcess if it
// belongs to no candidate.
std::vector<std::size_t> heads_of(const ProcessTree& tree,
                                  const std::vector<std::size_t>& candidates);

// Makes the user part of the names of jobs that are not of `user`: whatever processes of two users
// say of themselves, they are never of one job. What a rank has started is of its job, whoever runs
// it.
void split_users(ProcessTree& tree, uid_t user, const std::vector<std::size_t>& candidates);

// Makes the address part of a job's name if one of its ranks occurs with several addresses; and its
// network if ranks of the same number are in several, or if the address is the machine's own, which
// is another one in each network. `candidates`: indices of the processes that may be ranks.
void split_jobs(ProcessTree& tree, const std::vector<std::size_t>& candidates);

}  // namespace oddrank::ranks
