// Processes of a job that have no rank: the servers, engines and controllers beside ranks, and the
// families of jobs without ranks (a driver and its actors). Private to ranks/.
//
// A family is an outermost process with a communication library, and all such processes below it.
// It belongs to a job if one of its processes is a rank of the job, and its processes have titles
// ("VLLM::EngineCore"): then each process has its own part in the job. If the node has no ranks,
// each family of several parts is a job, "family PID" by its outermost process.
//
// The families of one Ray cluster are one family: its daemons have the session's name in their
// arguments, and start the actors (Ray 2.60: raylet). The cluster's driver has started a daemon,
// has the cluster's address in RAY_ADDRESS, or has a log of the session open. Daemons that no
// process of the job has started are its services.
#pragma once

#include <cstddef>
#include <vector>

#include "ranks/rank_table.h"

namespace oddrank::ranks {

// Returns whether the process is more than a worker of its parent: it has a title, or runs a
// program of its own.
bool has_own_part(const RankTable& table, std::size_t process);

// Adds a row for each process with its own part in the job; the family's other processes belong to
// the nearest row above them. Call it once all ranks have rows.
void add_families(RankTable& table);

// Removes the number of each rank with a title that is the only one of its job: each of several
// engines has a rank 0.
void forget_lone_numbers(RankTable& table);

// Makes the engines of one server replicas of one job (RankRow::replica): ranks of several jobs
// that have titles and belong to one family. Each engine has a rank 0.
void join_engines(RankTable& table);

// Sets each row's role by the process's title. A process without a rank and a title that has
// started others is a controller.
void add_roles(RankTable& table);

}  // namespace oddrank::ranks
