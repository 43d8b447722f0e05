#include "aggregate/symmetry/roles.h"

#include <cstddef>
#include <set>
#include <string>
#include <tuple>

#include "aggregate/solver/graph_algorithms.h"

namespace oddrank::aggregate {
namespace {

using Person = std::tuple<std::int32_t, pid_t, std::string>;  // rank, pid, host

std::set<Person> named_people(const Verdict& verdict) {
  std::set<Person> people;
  const auto add = [&people](const std::vector<Culprit>& culprits) {
    for (const Culprit& culprit : culprits) {
      people.emplace(culprit.rank, culprit.pid, culprit.host);
    }
  };
  add(verdict.culprits);
  for (const OtherStory& other : verdict.also) {
    add(other.culprits);
  }
  for (const BrokenLink& link : verdict.links) {
    people.emplace(link.from.rank, link.from.pid, link.from.host);
    people.emplace(link.to.rank, link.to.pid, link.to.host);
  }
  return people;
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
  const std::set<Person> people = named_people(verdict);
  std::vector<std::size_t> roots;
  for (std::size_t at = 0; at < ranks; ++at) {
    const RankView& rank = view.rank(at);
    if (people.contains({rank.rank, rank.pid(), rank.host})) {
      roots.push_back(at);
    }
  }
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
