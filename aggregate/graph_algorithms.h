// Strongly connected components of a directed graph, without recursion (graphs come from captures
// that anybody may have written, and may be deep).
#pragma once

#include <cstddef>
#include <vector>

namespace oddrank::aggregate {

using Adjacency = std::vector<std::vector<std::size_t>>;  // targets of each node

// Component number of each node; components are numbered in reverse topological order (a sink's
// number is lower than that of whoever waits for it). Tarjan's algorithm.
std::vector<std::size_t> components_of(const Adjacency& graph);

// Distance from `start` to each node, along the edges; `kFar` where there is no way. `came_from`
// gets the node before each on a shortest way.
inline constexpr std::size_t kFar = static_cast<std::size_t>(-1);
std::vector<std::size_t> distances(const Adjacency& graph,
                                   const std::vector<std::size_t>& starts,
                                   std::vector<std::size_t>* came_from = nullptr);

Adjacency reversed(const Adjacency& graph);

}  // namespace oddrank::aggregate
