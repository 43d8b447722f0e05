// Circles of the wait-for graph: ranks that wait for each other.
//
// A circle shows a wrong program only if nobody in it can go on for another reason: if no wait
// leads out of it, or if each of its calls lets its members go only together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "aggregate/wait_graph.h"

namespace oddrank::aggregate {

// Which memberships count as known.
enum class Members : std::uint8_t {
  kKnown,   // as it was read
  kByRule,  // in addition, those of a rendezvous, which are known by rule, not by evidence
};

// Returns the components (numbers) of WaitGraph::closed.
std::set<std::size_t> closed_components(const JobView& view,
                                        const WaitGraph& graph,
                                        Members members);

// Returns the slots of closed components, in the order of WaitGraph::slots.
std::vector<const Slot*> closed_slots(const WaitGraph& graph);

// Returns those ranks (indices) of a circle without any one of which there would be no circle:
// every way round leads through each of them, and the other ranks only wait beside it. Empty if the
// circle has no such rank, or more than kMaxCut ranks (graph_algorithms.h).
std::vector<std::size_t> cuts_of(const WaitGraph& graph, const std::vector<std::size_t>& ranks);

// Returns whether ranks wait for each other in a circle that does not lead through this rank, in
// calls whose members leave only together: then its going on would not set them free.
bool has_circle_without(const WaitGraph& graph, std::size_t rank);

}  // namespace oddrank::aggregate
