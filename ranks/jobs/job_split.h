// Splits jobs that have the same name. Private to ranks/.
//
// A job's name comes from its launcher or its address. Several jobs of a node may have the same
// name: the jobs of a sweep in one step of SLURM, and jobs in containers with their own networks,
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

// Returns [index] -> the process itself if it is a candidate, or the candidate above it; kNoProcess
// if there is none.
std::vector<std::size_t> heads_of(const ProcessTree& tree,
                                  const std::vector<std::size_t>& candidates);

// Adds the user to the names of jobs of users other than `user`: processes of two users never
// belong to one job, whatever they claim. Except that a process that a rank has started belongs to
// the rank's job.
void split_users(ProcessTree& tree, uid_t user, const std::vector<std::size_t>& candidates);

// Adds the address to a job's name if one of its ranks occurs with several addresses. Adds the
// network if ranks of the same number are in several networks, or if the address is the machine's
// own, which means another place in each network. `candidates`: indices of the processes that may
// be ranks.
void split_jobs(ProcessTree& tree, const std::vector<std::size_t>& candidates);

}  // namespace oddrank::ranks
