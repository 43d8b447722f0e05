// Processes of a job that have no rank: the servers, engines and controllers beside ranks, and the
// families of jobs without ranks (a driver and its actors). Private to ranks/.
//
// A family is a process with a communication library that none of those started which have one, and
// all such processes below it. It belongs to a job if it has a rank of it, and gave titles to its
// processes ("VLLM::EngineCore"): then each of them has a part of its own. Without any rank on the
// node, each family of several parts is a job, "family PID" by its outermost process.
#pragma once

#include <cstddef>
#include <vector>

#include "ranks/rank_table.h"

namespace oddrank::ranks {

// Returns whether the process is more than a worker of the one that started it: it has a title, or
// runs a program of its own.
bool has_own_part(const RankTable& table, std::size_t process);

// Adds a row for each process that has a part of its own in the job; what else the family has
// started belongs to the nearest row above it. A rank with a title and no other member loses its
// number: several engines have a rank 0 each. Call it once all ranks have rows.
void add_families(RankTable& table);

// Takes such a number, as above, from processes that were given.
void forget_lone_numbers(RankTable& table);

// Says of each row what the process is in the job, if its title says so; of one without a rank and
// a title, that it has started others.
void add_roles(RankTable& table);

}  // namespace oddrank::ranks
