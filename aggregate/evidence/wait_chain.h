// Paths through the wait-for graph, hop by hop: the evidence of a verdict.
#pragma once

#include <cstddef>
#include <vector>

#include "aggregate/evidence/wait_graph.h"
#include "aggregate/verdict.h"

namespace oddrank::aggregate {

// Returns the path in words, from the largest group of waiters to the rank and on to what it waits
// for.
std::vector<ChainLink> chain_to(const JobView& view, const WaitGraph& graph, std::size_t rank);

// Returns the path from a rank on: rank -> child -> file. Also for ranks that no rank waits for.
std::vector<ChainLink> chain_from(const JobView& view, const WaitGraph& graph, std::size_t rank);

}  // namespace oddrank::aggregate
