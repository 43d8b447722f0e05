#include "aggregate/wait_graph.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "aggregate/view/rank_set.h"
#include "aggregate/view/wait_words.h"
#include "base/printable.h"

namespace oddrank::aggregate {

using snapshot::CallKind;
using snapshot::CollectiveCall;
using snapshot::ProcessCapture;
using snapshot::ThreadCapture;

namespace {

class GraphBuilder {
 public:
  explicit GraphBuilder(const JobView& view);
  WaitGraph run();

 private:
  std::size_t add_node(GraphNode node);
  void add_edge(GraphEdge edge);
  void add_slots();

  // Returns whether both sides of one transfer are inside: then neither waits for the other's
  // program.
  bool is_matched(const CollectiveCall& call, std::int32_t rank, const RankView& peer) const;

  void add_peer(std::size_t at);
  std::size_t process_node(const ProcessCapture& process);

  // Adds rank -> child -> child's child, as long as waits name processes; then the thing at the
  // end.
  void add_processes(std::size_t at);

  void add_resource(std::size_t node, const ProcessCapture& process);
  std::string wait_evidence(const ProcessCapture& process, const ThreadCapture& thread) const;

  const JobView& view_;
  WaitGraph graph_;
  std::map<const ProcessCapture*, std::size_t> process_nodes_;
  std::map<std::string, std::size_t> resource_nodes_;
};

GraphBuilder::GraphBuilder(const JobView& view) : view_(view) {
  graph_.slots = find_slots(view);
  const std::size_t ranks = view.ranks().size();
  for (std::size_t at = 0; at < ranks; ++at) {
    add_node({NodeKind::kRank, JobView::name(view.ranks()[at]), at, view.ranks()[at].process});
  }
  graph_.awaited.assign(ranks, false);
  graph_.guessed.assign(ranks, false);
  graph_.shown.assign(ranks, false);
  graph_.may_have_left.assign(ranks, false);
  graph_.waits_for_rank.assign(ranks, false);
  graph_.opaque.assign(ranks, false);
}

WaitGraph GraphBuilder::run() {
  add_slots();
  for (std::size_t at = 0; at < view_.ranks().size(); ++at) {
    add_peer(at);
    add_processes(at);
  }
  for (std::size_t at = 0; at < view_.ranks().size(); ++at) {
    if (graph_.awaited[at] && !graph_.waits_for_rank[at]) {
      graph_.roots.push_back(at);
    }
  }
  graph_.in = reversed(graph_.out);
  graph_.component = components_of(graph_.out);
  for (const std::size_t component : graph_.component) {
    graph_.component_size.resize(std::max(graph_.component_size.size(), component + 1));
    ++graph_.component_size[component];
  }
  return std::move(graph_);
}

std::size_t GraphBuilder::add_node(GraphNode node) {
  graph_.nodes.push_back(std::move(node));
  graph_.out.emplace_back();
  return graph_.nodes.size() - 1;
}

void GraphBuilder::add_edge(GraphEdge edge) {
  if (edge.to < graph_.shown.size()) {
    (edge.assumed ? graph_.guessed : graph_.shown)[edge.to] = true;
  }
  graph_.out[edge.from].push_back(edge.to);
  graph_.edges.push_back(std::move(edge));
}

void GraphBuilder::add_slots() {
  for (std::size_t at = 0; at < graph_.slots.size(); ++at) {
    const Slot& slot = graph_.slots[at];
    const std::size_t node = add_node({NodeKind::kSlot, slot.words, at, nullptr});
    const bool assumed = slot.membership == Membership::kAssumed;
    for (const std::size_t rank : slot.inside) {
      add_edge({rank, node, slot.words, slot.evidence, assumed});
      (slot.absent.empty() ? graph_.opaque : graph_.waits_for_rank)[rank] = true;
    }
    for (const std::size_t rank : slot.absent) {
      const bool left = may_have_left(slot, view_.ranks()[rank].rank);
      add_edge({node, rank, "has not entered", "", assumed || left});
      graph_.awaited[rank] = true;
      graph_.may_have_left[rank] = graph_.may_have_left[rank] || left;
    }
  }
}

bool GraphBuilder::is_matched(const CollectiveCall& call,
                              std::int32_t rank,
                              const RankView& peer) const {
  return takes_part(peer) && peer.leader->call->kind != call.kind &&
         (peer.leader->call->kind == CallKind::kSend ||
          peer.leader->call->kind == CallKind::kRecv) &&
         peer.leader->call->peer == rank;
}

void GraphBuilder::add_peer(std::size_t at) {
  const RankView& rank = view_.ranks()[at];
  if (!takes_part(rank)) {
    return;
  }
  const CollectiveCall& call = *rank.leader->call;
  if (call.kind != CallKind::kSend && call.kind != CallKind::kRecv) {
    return;
  }
  const std::size_t peer = call.peer < 0 ? JobView::kNone : view_.index_of(call.peer);
  if (peer == JobView::kNone || peer == at || is_matched(call, rank.rank, view_.ranks()[peer])) {
    graph_.opaque[at] = true;
    return;
  }
  add_edge({at, peer, call_words(view_, call), printable(view_.text(call.evidence), 200), false});
  graph_.waits_for_rank[at] = true;
  graph_.awaited[peer] = true;
}

std::size_t GraphBuilder::process_node(const ProcessCapture& process) {
  const auto [at, is_new] = process_nodes_.try_emplace(&process, 0);
  if (is_new) {
    at->second = add_node({NodeKind::kProcess,
                           fmt::format("pid {} ({})", process.pid, child_words(view_, process)), 0,
                           &process});
  }
  return at->second;
}

void GraphBuilder::add_processes(std::size_t at) {
  constexpr int kMaxHops = 8;  // also ends a circle of holders
  const ProcessCapture* process = view_.ranks()[at].process;
  std::size_t node = at;
  for (int hop = 0; hop < kMaxHops && process != nullptr; ++hop) {
    const ProcessCapture* next = awaited_process(view_, *process);
    if (next == nullptr) {
      break;
    }
    const std::size_t next_node =
        next->is_rank && next->rank >= 0 ? view_.index_of(next->rank) : process_node(*next);
    if (next_node == JobView::kNone || next_node == node || graph_.edge(node, next_node)) {
      return;
    }
    const ThreadCapture* thread = deciding_thread(view_, *process);
    add_edge({node, next_node,
              fmt::format("{} ({})", wait_name(thread->wait.on), process_words(view_, *next)),
              wait_evidence(*process, *thread), false});
    if (next_node < view_.ranks().size()) {
      // A child that waits for its own rank: a circle of one rank, with no other rank in it.
      graph_.awaited[next_node] = graph_.awaited[next_node] || next_node != at;
      graph_.waits_for_rank[at] = graph_.waits_for_rank[at] || next_node != at;
      return;
    }
    node = next_node;
    process = next;
  }
  if (process != nullptr) {
    add_resource(node, *process);
  }
}

void GraphBuilder::add_resource(std::size_t node, const ProcessCapture& process) {
  const ThreadCapture* thread = deciding_thread(view_, process);
  const std::string path =
      thread == nullptr || thread->call ? "" : printable(view_.text(thread->wait.path));
  if (path.empty()) {
    return;
  }
  // Pipes and sockets of two nodes may have the same name by chance; files may be shared.
  const std::string key =
      path.front() == '/' ? path : fmt::format("{} on {}", path, view_.host(process));
  const auto [at, is_new] = resource_nodes_.try_emplace(key, 0);
  if (is_new) {
    at->second = add_node({NodeKind::kResource, key, 0, nullptr});
  }
  const std::string call = printable(view_.text(thread->wait.syscall_name), 40);
  add_edge({node, at->second, call.empty() ? std::string(wait_name(thread->wait.on)) : call + "()",
            wait_evidence(process, *thread), false});
}

std::string GraphBuilder::wait_evidence(const ProcessCapture& process,
                                        const ThreadCapture& thread) const {
  const std::string detail = printable(wait_detail(view_, process, thread), 200);
  return detail.empty() ? system_call_words(view_, thread, true) : detail;
}

std::string waiters_text(const JobView& view, const std::vector<std::size_t>& ranks) {
  std::vector<std::int32_t> numbers;
  numbers.reserve(ranks.size());
  for (const std::size_t at : ranks) {
    numbers.push_back(view.ranks()[at].rank);
  }
  return format_ranks(std::move(numbers));
}

std::string node_text(const JobView& view, const WaitGraph& graph, std::size_t node) {
  const GraphNode& it = graph.nodes[node];
  if (it.kind == NodeKind::kRank) {
    const RankView& rank = view.ranks()[it.index];
    return rank.rank >= 0 ? std::to_string(rank.rank) : fmt::format("pid {}", rank.pid());
  }
  return it.kind == NodeKind::kProcess ? fmt::format("pid {}", it.process->pid) : it.label;
}

// The waits between ranks on the shortest paths to one rank.
class WaysTo {
 public:
  WaysTo(const JobView& view, const WaitGraph& graph, std::size_t rank);

  // Returns the ranks that wait for one of `targets` in calls of one sort: the sort with the most
  // ranks behind it.
  std::vector<std::size_t> main_waiters(const std::set<std::size_t>& targets) const;

  ChainLink link(const std::vector<std::size_t>& waiters) const;

 private:
  std::string call_text(std::size_t at) const;

  // Returns the same text for all stages of a pipeline, which receive from different ranks.
  std::string call_sort(std::size_t at) const;

  const JobView& view_;
  const WaitGraph& graph_;
  std::vector<std::size_t> next_;    // by rank: the next rank on its path; kFar if there is none
  std::vector<std::size_t> behind_;  // by rank: itself and all ranks whose path leads through it
  std::vector<std::pair<std::size_t, std::size_t>> order_;  // distance, rank
};

WaysTo::WaysTo(const JobView& view, const WaitGraph& graph, std::size_t rank)
    : view_(view),
      graph_(graph),
      next_(view.ranks().size(), kFar),
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
    order_.emplace_back(distance[at], at);
  }
  // Sums up the ranks that wait behind each: farthest first, so that sums are complete.
  std::sort(order_.begin(), order_.end(), std::greater<>());
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
  std::sort(best.second.begin(), best.second.end());
  return best.second;
}

ChainLink WaysTo::link(const std::vector<std::size_t>& waiters) const {
  ChainLink link;
  std::set<std::size_t> targets;
  std::set<std::size_t> slots;
  for (const std::size_t at : waiters) {
    for (const std::size_t node : graph_.out[at]) {
      if (graph_.nodes[node].kind == NodeKind::kSlot) {
        slots.insert(graph_.nodes[node].index);
      } else if (node == next_[at]) {
        targets.insert(node);
      }
    }
  }
  for (const std::size_t slot : slots) {
    targets.insert(graph_.slots[slot].absent.begin(), graph_.slots[slot].absent.end());
  }
  link.waiters = waiters_text(view_, waiters);
  link.waits_for = waiters_text(view_, {targets.begin(), targets.end()});
  link.on = waiters.size() > 1 ? call_sort(waiters.front()) : call_text(waiters.front());
  if (!graph_.out[waiters.front()].empty()) {
    const GraphEdge* edge = graph_.edge(waiters.front(), graph_.out[waiters.front()].front());
    link.evidence = edge == nullptr ? "" : edge->evidence;
  }
  return link;
}

std::string WaysTo::call_text(std::size_t at) const {
  const RankView& rank = view_.ranks()[at];
  if (rank.leader != nullptr && rank.leader->call) {
    return call_words(view_, *rank.leader->call);
  }
  const GraphEdge* edge = next_[at] == kFar ? nullptr : graph_.edge(at, next_[at]);
  return edge == nullptr ? "wait" : edge->on;
}

std::string WaysTo::call_sort(std::size_t at) const {
  const RankView& rank = view_.ranks()[at];
  if (rank.leader != nullptr && rank.leader->call && rank.leader->call->peer >= 0) {
    return printable(view_.text(rank.leader->call->op), 60);
  }
  return call_text(at);
}

}  // namespace

const GraphEdge* WaitGraph::edge(std::size_t from, std::size_t to) const {
  // A node has few edges unless it is a slot; callers start from ranks and processes.
  if (std::find(out[from].begin(), out[from].end(), to) == out[from].end()) {
    return nullptr;
  }
  const auto at = std::find_if(edges.begin(), edges.end(), [from, to](const GraphEdge& edge) {
    return edge.from == from && edge.to == to;
  });
  return at == edges.end() ? nullptr : &*at;
}

WaitGraph build_wait_graph(const JobView& view) {
  return GraphBuilder(view).run();
}

std::set<std::size_t> closed_circles(const JobView& view, const WaitGraph& graph, Guess guess) {
  const auto is_sure = [guess](const Slot& slot) {
    const bool by_rule = guess == Guess::kRendezvous && slot.membership == Membership::kAssumed &&
                         slot.kind == CallKind::kRendezvous;
    return slot.unclear.empty() && !slot.mixed &&
           (by_rule || slot.membership == Membership::kKnown);
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
        (it.kind == NodeKind::kRank && view.ranks()[it.index].presence != Presence::kRead);
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

namespace {

// Nodes of one component, each with its place in a list.
using Places = std::map<std::size_t, std::size_t>;

// Returns the edges within the component that do not touch the node `without`.
Adjacency edges_without(const WaitGraph& graph, const Places& places, std::size_t without) {
  Adjacency rest(places.size());
  for (const auto& [node, place] : places) {
    if (node == without) {
      continue;
    }
    for (const std::size_t to : graph.out[node]) {
      const auto target = places.find(to);
      if (to != without && target != places.end()) {
        rest[place].push_back(target->second);
      }
    }
  }
  return rest;
}

bool has_circle(const Adjacency& edges) {
  const std::vector<std::size_t> components = components_of(edges);
  return std::set<std::size_t>(components.begin(), components.end()).size() < components.size();
}

}  // namespace

std::size_t sole_cut(const WaitGraph& graph, const std::vector<std::size_t>& ranks) {
  if (ranks.empty() || ranks.size() > kMaxCut) {
    return JobView::kNone;
  }
  Places places;
  for (std::size_t node = 0; node < graph.nodes.size(); ++node) {
    if (graph.component[node] == graph.component[ranks.front()]) {
      places.emplace(node, places.size());
    }
  }
  std::size_t cut = JobView::kNone;
  for (const std::size_t rank : ranks) {
    if (has_circle(edges_without(graph, places, rank))) {
      continue;
    }
    if (cut != JobView::kNone) {
      return JobView::kNone;
    }
    cut = rank;
  }
  return cut;
}

std::vector<const Slot*> closed_slots(const JobView& view, const WaitGraph& graph) {
  const std::set<std::size_t> closed = closed_circles(view, graph);
  std::vector<const Slot*> slots;
  for (std::size_t node = 0; node < graph.nodes.size() && !closed.empty(); ++node) {
    if (graph.nodes[node].kind == NodeKind::kSlot && closed.contains(graph.component[node])) {
      slots.push_back(&graph.slots[graph.nodes[node].index]);
    }
  }
  return slots;
}

std::vector<std::size_t> waiters_of(const WaitGraph& graph, std::size_t rank) {
  const std::vector<std::size_t> distance = distances(graph.in, {rank});
  std::vector<std::size_t> waiters;
  for (std::size_t at = 0; at < graph.awaited.size(); ++at) {
    if (at != rank && distance[at] != kFar) {
      waiters.push_back(at);
    }
  }
  return waiters;
}

bool is_assumed(const WaitGraph& graph, std::size_t rank) {
  return graph.guessed[rank] && !graph.shown[rank];
}

std::vector<ChainLink> chain_from(const JobView& view, const WaitGraph& graph, std::size_t rank) {
  std::vector<ChainLink> chain;
  std::size_t node = rank;
  constexpr int kMaxHops = 8;
  for (int hop = 0; hop < kMaxHops; ++hop) {
    const auto next =
        std::find_if(graph.out[node].begin(), graph.out[node].end(), [&graph](std::size_t target) {
          return graph.nodes[target].kind == NodeKind::kProcess ||
                 graph.nodes[target].kind == NodeKind::kResource;
        });
    if (next == graph.out[node].end()) {
      break;
    }
    const GraphEdge* edge = graph.edge(node, *next);
    chain.push_back(
        {node_text(view, graph, node), node_text(view, graph, *next), edge->on, edge->evidence});
    node = *next;
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
    chain.push_back(ways.link(waiters));
    targets = {waiters.begin(), waiters.end()};
  }
  std::reverse(chain.begin(), chain.end());
  const auto rest = chain_from(view, graph, rank);
  chain.insert(chain.end(), rest.begin(), rest.end());
  return chain;
}

}  // namespace oddrank::aggregate
