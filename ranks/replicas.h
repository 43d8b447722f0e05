// Replicas of one job: groups of ranks that train copies of one model, each with numbers and a
// store of its own, so that there is a rank 0 in each. They share a lighthouse of torchft, at which
// they meet before each step: the variable TORCHFT_LIGHTHOUSE has its address (torchft 0.2,
// manager.py). Private to ranks/.
#pragma once

#include <span>
#include <string>

#include "ranks/rank_table.h"

namespace oddrank::ranks {

// Joins all rows of one lighthouse to one job, in which each keeps its number; RankRow::replica has
// its replica. A process with that variable and no number is rank 0 of a replica of its own.
// Without given pids, adds those that have no row yet, and the lighthouse.
void join_replicas(RankTable& table);

// Returns whether these arguments start a lighthouse: torchft's program of that name.
bool is_lighthouse(std::span<const std::string> arguments);

}  // namespace oddrank::ranks
