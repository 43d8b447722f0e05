// Ranks that wait for somebody to connect to them, in accept(), or in select() and its like at
// nothing but sockets that listen: servers that the other ranks call in.
//
// That ranks which have connected wait for such a rank does not tell that it holds them up: it may
// itself wait for the one that has not connected yet.
#pragma once

#include <cstddef>
#include <vector>

#include "aggregate/view/job_view.h"

namespace oddrank::aggregate {

// Returns the ranks (indices) that wait at a connection to the port at which `at` waits for more of
// them; empty if it waits otherwise. Local sockets have no port: each connection to it counts.
std::vector<std::size_t> connected_ranks(const JobView& view, std::size_t at);

}  // namespace oddrank::aggregate
