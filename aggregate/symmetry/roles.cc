#include "aggregate/symmetry/roles.h"

#include <cstddef>
#include <set>
#include <string>
#include <tuple>

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

// Returns the ranks without a role from which waits lead to one of `todo`, walking against the
// waits. A walk ends at the ranks that it reaches, or goes on `through` them.
std::vector<std::uint32_t> ring_around(const WaitGraph& graph,
                                       std::vector<std::uint32_t> todo,
                                       bool through,
                                       const std::vector<Role>& roles,
                                       std::vector<bool>& seen) {
  std::vector<std::uint32_t> ring;
  while (!todo.empty()) {
    const std::uint32_t node = todo.back();
    todo.pop_back();
    for (const std::uint32_t waiter : graph.in[node]) {
      const bool is_rank = waiter < roles.size();
      if (seen[waiter] || (is_rank && roles[waiter] != Role::kElsewhere)) {
        continue;
      }
      seen[waiter] = true;
      if (is_rank) {
        ring.push_back(waiter);
      }
      if (!is_rank || through) {
        todo.push_back(waiter);
      }
    }
  }
  return ring;
}

}  // namespace

std::vector<Role> roles_of(const JobView& view, const WaitGraph& graph, const Verdict& verdict) {
  const std::size_t ranks = view.ranks().size();
  std::vector<Role> roles(ranks, Role::kElsewhere);
  const std::set<Person> people = named_people(verdict);
  std::vector<std::uint32_t> roots;
  for (std::size_t at = 0; at < ranks; ++at) {
    const RankView& rank = view.ranks()[at];
    if (people.contains({rank.rank, rank.pid(), rank.host})) {
      roles[at] = Role::kRoot;
      roots.push_back(static_cast<std::uint32_t>(at));
    }
  }
  std::vector<bool> seen(graph.nodes.size(), false);
  const std::vector<std::uint32_t> direct = ring_around(graph, roots, false, roles, seen);
  for (const std::uint32_t rank : direct) {
    roles[rank] = Role::kDirect;
  }
  for (const std::uint32_t rank : ring_around(graph, direct, true, roles, seen)) {
    roles[rank] = Role::kIndirect;
  }
  return roles;
}

}  // namespace oddrank::aggregate
