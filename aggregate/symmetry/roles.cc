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

}  // namespace

std::vector<Role> roles_of(const JobView& view, const WaitGraph& graph, const Verdict& verdict) {
  const std::size_t ranks = view.ranks().size();
  std::vector<Role> roles(ranks, Role::kElsewhere);
  std::vector<std::size_t> roots =
      view.ranks_that([&](std::size_t at) { return is_root(verdict, view.rank(at)); });
  // A link has no guilty end; ranks that wait for it wait for a root.
  for (std::size_t node = ranks; node < graph.nodes.size() && !verdict.links.empty(); ++node) {
    if (graph.nodes[node].kind == NodeKind::kLink) {
      roots.push_back(node);
    }
  }
  std::vector<std::size_t> toward;
  const std::vector<std::size_t> distance = distances(graph.in, roots, &toward);
  for (std::size_t at = 0; at < ranks; ++at) {
    if (distance[at] == 0 || distance[at] == kFar) {
      roles[at] = distance[at] == 0 ? Role::kRoot : Role::kElsewhere;
      continue;
    }
    std::size_t next = toward[at];
    while (next >= ranks && distance[next] > 0) {
      next = toward[next];
    }
    roles[at] = distance[next] == 0 ? Role::kDirect : Role::kIndirect;
  }
  return roles;
}

}  // namespace oddrank::aggregate
