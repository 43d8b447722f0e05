// Replicas of one job: groups of ranks that train copies of one model, each with its own numbers
// and store, so that each has a rank 0. They share a lighthouse of torchft, where they meet before
// each step: the variable TORCHFT_LIGHTHOUSE has its address (torchft 0.2, manager.py). Private to
// ranks/.
#pragma once

#include <span>
#include <string>

#include "ranks/rank_table.h"

namespace oddrank::ranks {

// Joins all rows of one lighthouse to one job; each keeps its number, and RankRow::replica is set.
// A process with that variable and no number is rank 0 of its own replica. Unless the user gave
// pids, adds such processes that have no row yet, and the lighthouse.
void join_replicas(RankTable& table);

// Returns whether these arguments start a lighthouse: torchft's program of that name.
bool is_lighthouse(std::span<const std::string> arguments);

}  // namespace oddrank::ranks
