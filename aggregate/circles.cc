#include "aggregate/circles.h"

#include <algorithm>

namespace oddrank::aggregate {
namespace {

// Returns whether members leave the call only together.
bool holds_all(const Slot& slot) {
  return slot.kind == snapshot::CallKind::kCollective && slot.membership == Membership::kKnown &&
         is_clear(slot) && !lets_some_leave(slot);
}

}  // namespace

std::set<std::size_t> closed_components(const JobView& view,
                                        const WaitGraph& graph,
                                        Members members) {
  const bool by_rule = members == Members::kByRule;
  const auto is_sure = [by_rule](const Slot& slot) {
    const bool known = slot.membership == Membership::kKnown ||
                       (by_rule && slot.membership == Membership::kAssumed &&
                        slot.kind == snapshot::CallKind::kRendezvous);
    return known && is_clear(slot);
  };
  std::vector<bool> open(graph.component_size.size(), false);
  std::vector<std::size_t> ranks(graph.component_size.size(), 0);
  for (std::size_t node = 0; node < graph.nodes.size(); ++node) {
    const std::size_t component = graph.component[node];
    const bool leaves =
        std::any_of(graph.out[node].begin(), graph.out[node].end(),
                    [&](std::size_t to) { return graph.component[to] != component; });
    const GraphNode& it = graph.nodes[node];
    const bool unsure =
        (it.kind == NodeKind::kSlot && !is_sure(graph.slots[it.index])) ||
        (it.kind == NodeKind::kRank &&
         (view.ranks()[it.index].presence != Presence::kRead || graph.may_be_woken[it.index]));
    open[component] = open[component] || leaves || unsure;
    ranks[component] += it.kind == NodeKind::kRank ? 1 : 0;
  }
  std::set<std::size_t> closed;
  for (std::size_t component = 0; component < open.size(); ++component) {
    if (!open[component] && ranks[component] >= 2) {
      closed.insert(component);
    }
  }
  return closed;
}

std::vector<std::size_t> cuts_of(const WaitGraph& graph, const std::vector<std::size_t>& ranks) {
  std::vector<std::size_t> nodes;
  for (std::size_t node = 0; node < graph.nodes.size() && !ranks.empty(); ++node) {
    if (graph.component[node] == graph.component[ranks.front()]) {
      nodes.push_back(node);
    }
  }
  return cuts_of(graph.out, nodes, ranks);
}

std::vector<const Slot*> closed_slots(const WaitGraph& graph) {
  std::vector<const Slot*> slots;
  for (std::size_t node = 0; node < graph.nodes.size() && !graph.closed.empty(); ++node) {
    if (graph.nodes[node].kind == NodeKind::kSlot && graph.closed.contains(graph.component[node])) {
      slots.push_back(&graph.slots[graph.nodes[node].index]);
    }
  }
  return slots;
}

bool has_circle_without(const WaitGraph& graph, std::size_t rank) {
  Adjacency rest(graph.nodes.size());
  for (std::size_t node = 0; node < graph.nodes.size(); ++node) {
    const GraphNode& it = graph.nodes[node];
    const bool counts = it.kind == NodeKind::kSlot ? holds_all(graph.slots[it.index])
                                                   : it.kind == NodeKind::kRank && node != rank;
    if (!counts) {
      continue;
    }
    for (const std::size_t to : graph.out[node]) {
      const NodeKind kind = graph.nodes[to].kind;
      if (to != rank && (kind == NodeKind::kSlot || it.kind == NodeKind::kSlot)) {
        add_target(rest, node, to);
      }
    }
  }
  return has_circle(rest);
}

}  // namespace oddrank::aggregate
