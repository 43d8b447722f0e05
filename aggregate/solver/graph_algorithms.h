// Strongly connected components of a directed graph and distances in it, without recursion: a
// capture may come from anywhere, and its graph may be deep.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/small/slim_vector.h"

namespace oddrank::aggregate {

using Adjacency = std::vector<SlimVector<std::uint32_t>>;  // targets of each node

// Adds an edge. Precondition: `from` has an entry.
inline void add_target(Adjacency& graph, std::size_t from, std::size_t to) {
  graph[from].push_back(static_cast<std::uint32_t>(to));
}

// Returns the component number of each node. Components are numbered in reverse topological order:
// a sink has a lower number than the nodes that wait for it. Tarjan's algorithm.
std::vector<std::size_t> components_of(const Adjacency& graph);

// Returns the distance from `start` to each node along the edges; `kFar` if there is no path.
// Stores in `came_from` the node before each on a shortest path.
inline constexpr std::size_t kFar = static_cast<std::size_t>(-1);
std::vector<std::size_t> distances(const Adjacency& graph,
                                   const std::vector<std::size_t>& starts,
                                   std::vector<std::size_t>* came_from = nullptr);

// Returns whether the graph has a circle.
bool has_circle(const Adjacency& graph);

// Returns the candidates that every circle within `nodes` leads through. Both are sorted;
// candidates are among the nodes. Empty for more than kMaxCut candidates.
inline constexpr std::size_t kMaxCut = 256;
std::vector<std::size_t> cuts_of(const Adjacency& graph,
                                 const std::vector<std::size_t>& nodes,
                                 const std::vector<std::size_t>& candidates);

// Returns the graph with each edge the other way round.
Adjacency reversed(const Adjacency& graph);

}  // namespace oddrank::aggregate
