// Processes of a job that have no rank: the servers, engines and controllers beside ranks, and the
// families of jobs without ranks (a driver and its actors). Private to ranks/.
//
// A family is an outermost process with a communication library, and all such processes below it.
// It belongs to a job if one of its processes is a rank of the job, and its processes have titles
// ("VLLM::EngineCore"): then each of them has a part of its own. If the node has no ranks, each
// family of several parts is a job, "family PID" by its outermost process.
//
// The families of one cluster of Ray are one: its daemons' arguments have the session's name, and
// they start the actors (Ray 2.60: raylet). A driver of it has started one of them, or has its
// address in RAY_ADDRESS.
#pragma once

#include <cstddef>
#include <vector>

#include "ranks/rank_table.h"

namespace oddrank::ranks {

// Returns whether the process is more than a worker of the one that started it: it has a title, or
// runs a program of its own.
bool has_own_part(const RankTable& table, std::size_t process);

// Adds a row for each process that has a part of its own in the job; the family's other processes
// belong to the nearest row above them. A rank with a title and no other member loses its number,
// since several engines have a rank 0 each. Call it once all ranks have rows.
void add_families(RankTable& table);

// Removes such a number, as above, from processes that the user gave.
void forget_lone_numbers(RankTable& table);

// Sets each row's role in the job by the process's title. A process without rank and title that has
// started others is a controller.
void add_roles(RankTable& table);

}  // namespace oddrank::ranks
