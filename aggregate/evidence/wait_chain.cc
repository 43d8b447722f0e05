#include "aggregate/evidence/wait_chain.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "aggregate/view/rank_set.h"
#include "aggregate/words/wait_words.h"
#include "base/printable.h"

namespace oddrank::aggregate {
namespace {

std::string waiters_text(const JobView& view, const std::vector<std::size_t>& ranks) {
  std::string set = format_ranks(view.numbers_of(ranks));
  if (ranks.empty() || !set.empty()) {
    return set;
  }
  return ranks.size() == 1 ? JobView::short_name(view.rank(ranks.front()))
                           : fmt::format("{} processes", ranks.size());
}

std::string node_text(const JobView& view, const WaitGraph& graph, std::size_t node) {
  const GraphNode& it = graph.nodes[node];
  if (it.kind == NodeKind::kRank) {
    const RankView& rank = view.rank(it.index);
    return rank.rank >= 0 ? std::to_string(rank.rank) : JobView::short_name(rank);
  }
  if (it.kind == NodeKind::kThread) {
    return thread_words(view, *it.thread);
  }
  return it.kind == NodeKind::kProcess ? fmt::format("pid {}", it.process->pid)
                                       : label_of(view, graph, it);
}

// Returns node_text() of one end of a wait, or the thread in words if both ends are threads of one
// process (`within`).
std::string end_text(const JobView& view, const WaitGraph& graph, std::size_t node, bool within) {
  return within ? thread_words(view, *graph.nodes[node].thread) : node_text(view, graph, node);
}

// The waits between ranks on the shortest paths to one rank.
class WaysTo {
 public:
  WaysTo(const JobView& view, const WaitGraph& graph, std::size_t rank);

  // Returns the ranks that wait for one of `targets` in calls of one sort: the sort with the most
  // ranks behind it.
  std::vector<std::size_t> main_waiters(const std::set<std::size_t>& targets) const;

  // Returns the ranks that the waiters wait for directly.
  std::set<std::size_t> targets_of(const std::vector<std::size_t>& waiters) const;

  // Returns the ranks that lead to the target and wait in calls of one sort.
  std::vector<std::size_t> waiters_among(const std::set<std::size_t>& ranks) const;

  ChainLink link(const std::vector<std::size_t>& waiters) const;

 private:
  std::string call_text(std::size_t at) const;

  // Returns the same text for all stages of a pipeline, which receive from different ranks.
  std::string call_sort(std::size_t at) const;

  const JobView& view_;
  const WaitGraph& graph_;
  std::vector<std::size_t> next_;    // by rank: the next rank on its path; kFar if there is none
  std::vector<std::size_t> first_;   // by rank: the first node on its path
  std::vector<std::size_t> behind_;  // by rank: itself and all ranks whose path leads through it
  std::vector<std::pair<std::size_t, std::size_t>> order_;  // distance, rank
};

WaysTo::WaysTo(const JobView& view, const WaitGraph& graph, std::size_t rank)
    : view_(view),
      graph_(graph),
      next_(view.ranks().size(), kFar),
      first_(view.ranks().size(), kFar),
      behind_(view.ranks().size(), 1) {
  std::vector<std::size_t> toward;
  const auto distance = distances(graph.in, {rank}, &toward);
  for (std::size_t at = 0; at < next_.size(); ++at) {
    if (at == rank || distance[at] == kFar) {
      continue;
    }
    std::size_t node = toward[at];
    while (node != kFar && node >= next_.size()) {
      node = toward[node];
    }
    next_[at] = node;
    first_[at] = toward[at];
    order_.emplace_back(distance[at], at);
  }
  // Sums up the ranks that wait behind each: farthest first, so that sums are complete.
  std::ranges::sort(order_, std::greater<>());
  for (const auto& [far, at] : order_) {
    if (next_[at] != kFar) {
      behind_[next_[at]] += behind_[at];
    }
  }
}

std::vector<std::size_t> WaysTo::main_waiters(const std::set<std::size_t>& targets) const {
  std::map<std::string, std::pair<std::size_t, std::vector<std::size_t>>> by_call;
  for (const auto& [far, at] : order_) {
    if (targets.contains(next_[at])) {
      auto& [weight, ranks] = by_call[call_sort(at)];
      weight += behind_[at];
      ranks.push_back(at);
    }
  }
  std::pair<std::size_t, std::vector<std::size_t>> best;
  for (auto& entry : by_call) {
    if (entry.second.first > best.first) {
      best = std::move(entry.second);
    }
  }
  std::ranges::sort(best.second);
  return best.second;
}

std::vector<std::size_t> WaysTo::waiters_among(const std::set<std::size_t>& ranks) const {
  std::vector<std::size_t> waiters;
  for (const std::size_t at : ranks) {
    if (next_[at] != kFar && (waiters.empty() || call_sort(at) == call_sort(waiters.front()))) {
      waiters.push_back(at);
    }
  }
  return waiters;
}

std::set<std::size_t> WaysTo::targets_of(const std::vector<std::size_t>& waiters) const {
  std::set<std::size_t> targets;
  std::set<std::size_t> slots;
  for (const std::size_t at : waiters) {
    for (const std::size_t node : graph_.out[at]) {
      if (graph_.nodes[node].kind == NodeKind::kSlot) {
        slots.insert(graph_.nodes[node].index);
      } else if (node == first_[at] && next_[at] != kFar) {
        targets.insert(next_[at]);
      }
    }
  }
  for (const std::size_t slot : slots) {
    targets.insert(graph_.slots[slot].absent.begin(), graph_.slots[slot].absent.end());
  }
  if (targets.empty() && next_[waiters.front()] != kFar) {
    targets.insert(next_[waiters.front()]);  // all members are there, and wait for another rank
  }
  return targets;
}

ChainLink WaysTo::link(const std::vector<std::size_t>& waiters) const {
  ChainLink link;
  const std::set<std::size_t> targets = targets_of(waiters);
  link.waiters = waiters_text(view_, waiters);
  link.waits_for = waiters_text(view_, {targets.begin(), targets.end()});
  link.on = waiters.size() > 1 ? call_sort(waiters.front()) : call_text(waiters.front());
  if (!graph_.out[waiters.front()].empty()) {
    const GraphEdge* edge = graph_.edge(waiters.front(), graph_.out[waiters.front()].front());
    link.evidence = edge == nullptr ? "" : graph_.text(edge->evidence);
  }
  return link;
}

std::string WaysTo::call_text(std::size_t at) const {
  const RankView& rank = view_.rank(at);
  if (rank.decider != nullptr && rank.decider->call) {
    return call_words(view_, *rank.decider->call);
  }
  if (first_[at] != kFar && graph_.nodes[first_[at]].kind == NodeKind::kSlot) {
    return graph_.slots[graph_.nodes[first_[at]].index].words;
  }
  const GraphEdge* edge = first_[at] == kFar ? nullptr : graph_.edge(at, first_[at]);
  return edge == nullptr ? "wait" : graph_.text(edge->on);
}

std::string WaysTo::call_sort(std::size_t at) const {
  const RankView& rank = view_.rank(at);
  if (rank.decider != nullptr && rank.decider->call && rank.decider->call->peer >= 0) {
    return printable(view_.text(rank.decider->call->op), 60);
  }
  return call_text(at);
}

}  // namespace

std::vector<ChainLink> chain_from(const JobView& view, const WaitGraph& graph, std::size_t rank) {
  constexpr std::size_t kMaxHops = 8;
  std::vector<ChainLink> chain;
  std::set<std::size_t> seen;
  std::size_t node = rank;
  while (chain.size() < kMaxHops && seen.insert(node).second) {
    const GraphEdge* next = nullptr;
    for (const std::size_t target : graph.out[node]) {
      const NodeKind kind = graph.nodes[target].kind;
      const bool own = target == rank;  // a circle of its own threads
      const GraphEdge* edge = own || (kind != NodeKind::kRank && kind != NodeKind::kSlot)
                                  ? graph.edge(node, target)
                                  : nullptr;
      next = next == nullptr && edge != nullptr && !edge->assumed ? edge : next;
    }
    if (next == nullptr) {
      break;
    }
    const GraphNode& from = graph.nodes[node];
    const GraphNode& to = graph.nodes[next->to];
    const bool within =
        from.thread != nullptr && to.thread != nullptr && from.process == to.process;
    chain.push_back({end_text(view, graph, node, within), end_text(view, graph, next->to, within),
                     graph.text(next->on), graph.text(next->evidence)});
    node = next->to;
  }
  return chain;
}

std::vector<ChainLink> chain_to(const JobView& view, const WaitGraph& graph, std::size_t rank) {
  constexpr std::size_t kMaxHops = 8;
  const WaysTo ways(view, graph, rank);
  std::vector<ChainLink> chain;
  std::set<std::size_t> targets = {rank};
  while (chain.size() < kMaxHops) {
    const std::vector<std::size_t> waiters = ways.main_waiters(targets);
    if (waiters.empty()) {
      break;
    }
    // Some of the awaited ranks may themselves wait for `rank`, which waits for no other.
    const auto between = chain.empty() && !graph.waits[rank]
                             ? ways.waiters_among(ways.targets_of(waiters))
                             : std::vector<std::size_t>();
    if (!between.empty()) {
      chain.push_back(ways.link(between));
    }
    chain.push_back(ways.link(waiters));
    targets = {waiters.begin(), waiters.end()};
  }
  std::reverse(chain.begin(), chain.end());
  const auto rest = chain_from(view, graph, rank);
  chain.insert(chain.end(), rest.begin(), rest.end());
  return chain;
}

}  // namespace oddrank::aggregate
