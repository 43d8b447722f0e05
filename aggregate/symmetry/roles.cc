#include "aggregate/symmetry/roles.h"

#include <algorithm>
#include <cstddef>

#include "aggregate/solver/graph_algorithms.h"

namespace oddrank::aggregate {
namespace {

// Returns whether the verdict names the rank, or a story beside it does.
bool is_root(const Verdict& verdict, const RankView& rank) {
  const auto is_end = [&rank](const LinkEnd& end) {
    return end.rank == rank.rank && end.pid == rank.pid() && end.host == rank.host;
  };
  return is_named(rank, verdict.culprits) ||
         std::ranges::any_of(
             verdict.also,
             [&rank](const OtherStory& other) { return is_named(rank, other.culprits); }) ||
         std::ranges::any_of(verdict.links, [&is_end](const BrokenLink& link) {
           return is_end(link.from) || is_end(link.to);
         });
}

// Returns the first ranks that are met on walks from the roots against the waits.
std::vector<std::size_t> direct_waiters(const WaitGraph& graph,
                                        const std::vector<std::size_t>& roots,
                                        std::size_t ranks) {
  std::vector<std::size_t> direct;
  std::vector<std::size_t> todo = roots;
  std::vector<bool> seen(graph.nodes.size(), false);
  for (const std::size_t root : roots) {
    seen[root] = true;
  }
  while (!todo.empty()) {
    const std::size_t node = todo.back();
    todo.pop_back();
    for (const std::uint32_t waiter : graph.in[node]) {
      if (!seen[waiter]) {
        seen[waiter] = true;
        (waiter < ranks ? direct : todo).push_back(waiter);
      }
    }
  }
  return direct;
}

}  // namespace

std::vector<Role> roles_of(const JobView& view, const WaitGraph& graph, const Verdict& verdict) {
  const std::size_t ranks = view.ranks().size();
  std::vector<Role> roles(ranks, Role::kElsewhere);
  std::vector<std::size_t> roots =
      view.ranks_that([&](std::size_t at) { return is_root(verdict, view.rank(at)); });
  // A link has no guilty end; who waits for it waits for a root.
  for (std::size_t node = ranks; node < graph.nodes.size() && !verdict.links.empty(); ++node) {
    if (graph.nodes[node].kind == NodeKind::kLink) {
      roots.push_back(node);
    }
  }
  const std::vector<std::size_t> distance = distances(graph.in, roots);
  for (std::size_t at = 0; at < ranks; ++at) {
    roles[at] = distance[at] == 0      ? Role::kRoot
                : distance[at] == kFar ? Role::kElsewhere
                                       : Role::kIndirect;
  }
  for (const std::size_t rank : direct_waiters(graph, roots, ranks)) {
    roles[rank] = Role::kDirect;
  }
  return roles;
}

}  // namespace oddrank::aggregate
