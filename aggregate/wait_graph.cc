#include "aggregate/wait_graph.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "aggregate/accepting_ranks.h"
#include "aggregate/circles.h"
#include "aggregate/polled_ranks.h"
#include "aggregate/side_servers.h"
#include "aggregate/view/rank_set.h"
#include "aggregate/view/remote_calls.h"
#include "aggregate/words/wait_words.h"
#include "base/printable.h"

namespace oddrank::aggregate {

using snapshot::CallKind;
using snapshot::CollectiveCall;
using snapshot::ProcessCapture;
using snapshot::ThreadCapture;

namespace {

constexpr std::size_t kNoEnd = static_cast<std::size_t>(-1);
constexpr std::size_t kSeveralEnds = static_cast<std::size_t>(-2);

// Returns whether the slot is MPI's end, and other ranks are in a call that the ranks in it have
// not made, and now never will: that they wait for the others is no excuse.
bool is_end_before_others(const std::vector<Slot>& slots, const Slot& slot) {
  return slot.op == "finalize" && slot.kind == CallKind::kCollective &&
         std::any_of(slots.begin(), slots.end(), [&slot](const Slot& other) {
           return &other != &slot && other.membership == Membership::kKnown &&
                  std::any_of(slot.inside.begin(), slot.inside.end(), [&other](std::size_t at) {
                    return std::binary_search(other.absent.begin(), other.absent.end(), at);
                  });
         });
}

// The ranks that wait for a server, directly or not, by the edges that the graph had at the first
// question: those of servers that are added meanwhile do not count.
class Clients {
 public:
  explicit Clients(const Adjacency& out) : out_(out) {}

  // Returns the distance of each node to the server; kFar: it does not wait for it. nullopt after
  // so many servers, as each needs a search through the graph.
  std::optional<std::vector<std::size_t>> distances_to(std::size_t server);

 private:
  const Adjacency& out_;
  Adjacency in_;
  std::size_t servers_ = 0;
};

std::optional<std::vector<std::size_t>> Clients::distances_to(std::size_t server) {
  constexpr std::size_t kMaxServers = 64;
  if (++servers_ > kMaxServers) {
    return std::nullopt;
  }
  if (in_.empty()) {
    in_ = reversed(out_);
  }
  return distances(in_, {server});
}

class GraphBuilder {
 public:
  explicit GraphBuilder(const JobView& view);
  WaitGraph run();

 private:
  std::size_t add_node(NodeKind kind, std::size_t index, const ProcessCapture* process);
  std::size_t add_named(NodeKind kind, std::string name, const ProcessCapture* process);
  void add_edge(std::size_t from,
                std::size_t to,
                std::string_view on,
                std::string_view evidence,
                bool assumed);
  void add_slots();

  // Returns whether both sides of one transfer are inside: then neither waits for the other's
  // program.
  bool is_matched(const CollectiveCall& call, std::int32_t rank, const RankView& peer) const;

  // Adds the wait for the other side of a transfer; for each of those that are possible, if there
  // are several.
  void add_peer(std::size_t at);
  // Marks waits for one of several ranks as guesses, unless all of these end at one and the same
  // rank: then it does not matter which of them it is.
  void settle_possible();
  // Returns the only rank, by component, at which its waits end: one that waits for no rank.
  std::vector<std::size_t> find_ends() const;

  // Adds the waits of servers and event loops for those of their ranks that do not, in turn, wait
  // for them.
  void add_polled();
  // Adds the waits of ranks that accept connections for those that do not wait for them.
  void add_accepting();
  // Adds the waits for the ranks that may run a function for this one.
  void add_servers(std::size_t at);
  std::size_t process_node(const ProcessCapture& process);

  // Adds rank -> child -> child's child, as long as waits name processes; then the thing at the
  // end.
  void add_processes(std::size_t at);

  // If the wait of a rank ends at another rank's process for which that one waits, too, that one is
  // the one to look at.
  void add_owners();
  void add_resource(std::size_t node, const ProcessCapture& process);
  std::string wait_evidence(const ProcessCapture& process, const ThreadCapture& thread) const;

  const JobView& view_;
  WaitGraph graph_;
  std::map<const ProcessCapture*, std::size_t> process_nodes_;
  std::map<std::string, std::size_t> resource_nodes_;
  std::vector<std::size_t> possible_;  // edges, each one of several
  struct ProcessEnd {
    std::size_t rank = 0;
    std::size_t node = 0;
  };
  std::vector<ProcessEnd> ends_;  // where the waits of ranks for processes end
};

GraphBuilder::GraphBuilder(const JobView& view) : view_(view) {
  graph_.slots = find_slots(view);
  const std::size_t ranks = view.ranks().size();
  for (std::size_t at = 0; at < ranks; ++at) {
    add_node(NodeKind::kRank, at, view.ranks()[at].process);
  }
  graph_.awaited.assign(ranks, false);
  graph_.guessed.assign(ranks, false);
  graph_.shown.assign(ranks, false);
  graph_.may_have_left.assign(ranks, false);
  graph_.waits_for_rank.assign(ranks, false);
  graph_.opaque.assign(ranks, false);
  graph_.may_be_woken.assign(ranks, false);
}

WaitGraph GraphBuilder::run() {
  add_slots();
  for (std::size_t at = 0; at < view_.ranks().size(); ++at) {
    add_peer(at);
    add_servers(at);
    add_processes(at);
  }
  add_owners();
  add_polled();
  add_accepting();
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
  settle_possible();
  return std::move(graph_);
}

std::size_t GraphBuilder::add_node(NodeKind kind,
                                   std::size_t index,
                                   const ProcessCapture* process) {
  graph_.nodes.push_back({kind, static_cast<std::uint32_t>(index), process});
  graph_.out.emplace_back();
  return graph_.nodes.size() - 1;
}

std::size_t GraphBuilder::add_named(NodeKind kind,
                                    std::string name,
                                    const ProcessCapture* process) {
  graph_.names.push_back(std::move(name));
  return add_node(kind, graph_.names.size() - 1, process);
}

void GraphBuilder::add_edge(std::size_t from,
                            std::size_t to,
                            std::string_view on,
                            std::string_view evidence,
                            bool assumed) {
  if (to < graph_.shown.size()) {
    (assumed ? graph_.guessed : graph_.shown)[to] = true;
  }
  add_target(graph_.out, from, to);
  graph_.edges.push_back({static_cast<std::uint32_t>(from), static_cast<std::uint32_t>(to),
                          graph_.texts.intern(on), graph_.texts.intern(evidence), assumed});
}

void GraphBuilder::add_slots() {
  for (std::size_t at = 0; at < graph_.slots.size(); ++at) {
    const Slot& slot = graph_.slots[at];
    const std::size_t node = add_node(NodeKind::kSlot, at, nullptr);
    const bool assumed = slot.membership == Membership::kAssumed;
    if (is_end_before_others(graph_.slots, slot)) {
      continue;
    }
    for (const std::size_t rank : slot.inside) {
      add_edge(rank, node, slot.words, slot.evidence, assumed);
      (slot.absent.empty() ? graph_.opaque : graph_.waits_for_rank)[rank] = true;
    }
    for (const std::size_t rank : slot.absent) {
      const bool left = may_have_left(slot, view_.ranks()[rank].rank);
      add_edge(node, rank, "has not entered", "", assumed || left);
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
  std::vector<std::int32_t> peers = view_.ranks_of(call.peers);
  if (call.peer >= 0) {
    peers = {call.peer};
  }
  const std::string evidence = printable(view_.text(call.evidence), 200);
  for (const std::int32_t number : peers) {
    const std::size_t peer = view_.index_of(number);
    if (peer == JobView::kNone || peer == at ||
        (peers.size() == 1 && is_matched(call, rank.rank, view_.ranks()[peer]))) {
      graph_.opaque[at] = true;
      continue;
    }
    if (peers.size() > 1) {
      possible_.push_back(graph_.edges.size());
    }
    add_edge(at, peer, call_words(view_, call), evidence, peers.size() > 1);
    graph_.waits_for_rank[at] = true;
    graph_.awaited[peer] = true;
  }
  graph_.opaque[at] = graph_.opaque[at] || peers.empty();
}

std::vector<std::size_t> GraphBuilder::find_ends() const {
  std::vector<std::size_t> end(graph_.component_size.size(), kNoEnd);
  const auto add = [&end](std::size_t component, std::size_t other) {
    if (other != kNoEnd) {
      std::size_t& known = end[component];
      known = known == kNoEnd || known == other ? other : kSeveralEnds;
    }
  };
  std::vector<std::vector<std::size_t>> nodes(end.size());
  for (std::size_t node = 0; node < graph_.nodes.size(); ++node) {
    nodes[graph_.component[node]].push_back(node);
  }
  // What is waited for has a lower number.
  for (std::size_t component = 0; component < nodes.size(); ++component) {
    for (const std::size_t node : nodes[component]) {
      if (graph_.nodes[node].kind == NodeKind::kRank && !graph_.waits_for_rank[node]) {
        add(component, node);
      }
      for (const std::size_t to : graph_.out[node]) {
        add(component, end[graph_.component[to]]);
      }
    }
  }
  return end;
}

void GraphBuilder::settle_possible() {
  if (possible_.empty()) {
    return;
  }
  const std::vector<std::size_t> ends = find_ends();
  std::map<std::size_t, std::set<std::size_t>> of_waiter;
  for (const std::size_t at : possible_) {
    const GraphEdge& edge = graph_.edges[at];
    of_waiter[edge.from].insert(ends[graph_.component[edge.to]]);
  }
  for (const std::size_t at : possible_) {
    GraphEdge& edge = graph_.edges[at];
    const std::set<std::size_t>& all = of_waiter[edge.from];
    if (all.size() == 1 && *all.begin() < graph_.nodes.size()) {
      edge.assumed = false;
      graph_.shown[edge.to] = true;
    }
  }
}

void GraphBuilder::add_servers(std::size_t at) {
  const RankView& rank = view_.ranks()[at];
  const auto call = rank.servers.empty() ? std::nullopt : remote_call(view_.model(), *rank.leader);
  for (const std::size_t to : rank.servers) {
    const RankView& server = view_.ranks()[to];
    const auto frame =
        server.sample() == nullptr ? std::nullopt : view_.model().user_frame(*server.sample());
    add_edge(at, to, call.value_or("an answer"),
             fmt::format("thread {} of it runs {}", server.leader->tid,
                         frame ? frame->name : std::string("a function for another rank")),
             rank.servers.size() > 1);
    graph_.waits_for_rank[at] = true;
    graph_.awaited[to] = true;
  }
}

void GraphBuilder::add_polled() {
  Clients clients(graph_.out);
  for (std::size_t at = 0; at < view_.ranks().size(); ++at) {
    const RankView& rank = view_.ranks()[at];
    PolledRanks polled = polled_ranks(view_, rank);
    const auto distance = polled.ranks.empty() ? std::nullopt : clients.distances_to(at);
    if (!distance) {
      continue;
    }
    // A rank that waits for this one will not send anything before.
    std::erase_if(polled.ranks, [&](std::size_t to) { return (*distance)[to] != kFar; });
    for (const std::size_t to : polled.ranks) {
      if (polled.all && polled.ranks.size() > 1) {
        possible_.push_back(graph_.edges.size());
      }
      add_edge(at, to, "a message", wait_evidence(*rank.process, *rank.leader),
               !polled.all || polled.ranks.size() > 1);
      graph_.waits_for_rank[at] = true;
      graph_.awaited[to] = true;
    }
    // If all of them wait for it, but some may have had its answer, they wait for something else,
    // or it does.
    graph_.opaque[at] = graph_.opaque[at] || (polled.ranks.empty() && !polled.owes_all);
    graph_.may_be_woken[at] = graph_.may_be_woken[at] || !polled.all;
  }
}

void GraphBuilder::add_accepting() {
  Clients clients(graph_.out);
  for (std::size_t at = 0; at < view_.ranks().size(); ++at) {
    const std::vector<std::size_t> connected = connected_ranks(view_, at);
    const auto distance = connected.empty() ? std::nullopt : clients.distances_to(at);
    if (!distance) {
      continue;
    }
    std::vector<std::int32_t> numbers;
    numbers.reserve(connected.size());
    for (const std::size_t client : connected) {
      numbers.push_back(view_.ranks()[client].rank);
    }
    const std::string evidence =
        fmt::format("{} {} connected", ranks_phrase(numbers), numbers.size() == 1 ? "has" : "have");
    for (std::size_t to = 0; to < view_.ranks().size(); ++to) {
      if ((*distance)[to] == kFar) {
        add_edge(at, to, "a connection", evidence, true);
        graph_.waits_for_rank[at] = true;
        graph_.awaited[to] = true;
      }
    }
    graph_.may_be_woken[at] = true;
  }
}

std::size_t GraphBuilder::process_node(const ProcessCapture& process) {
  const auto [at, is_new] = process_nodes_.try_emplace(&process, 0);
  if (is_new) {
    at->second =
        add_named(NodeKind::kProcess,
                  fmt::format("pid {} ({})", process.pid, child_words(view_, process)), &process);
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
    const std::size_t next_node = next->is_rank ? view_.index_of_rank(*next) : process_node(*next);
    if (next_node == JobView::kNone || next_node == node || graph_.edge(node, next_node)) {
      return;
    }
    const ThreadCapture* thread = deciding_thread(view_, *process);
    const bool beside = next_node < view_.ranks().size() && next_node != at &&
                        answers_beside(view_, thread->wait, *next, view_.ranks()[next_node].leader);
    add_edge(node, next_node,
             fmt::format("{} ({})", wait_name(thread->wait.on), process_words(view_, *next)),
             wait_evidence(*process, *thread), beside);
    graph_.may_be_woken[at] = graph_.may_be_woken[at] || beside;
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
    ends_.push_back({at, node});
  }
}

void GraphBuilder::add_owners() {
  for (const auto& [at, node] : ends_) {
    const ProcessCapture& process = *graph_.nodes[node].process;
    const ProcessCapture* owner =
        process.is_rank ? nullptr : view_.process(process.node, process.owner);
    if (owner == nullptr || !owner->is_rank) {
      continue;
    }
    const std::size_t rank = view_.index_of_rank(*owner);
    if (rank != JobView::kNone && rank != at && graph_.edge(rank, node) != nullptr) {
      add_edge(at, rank, "its process",
               "both wait for " + label_of(view_, graph_, graph_.nodes[node]), false);
      graph_.waits_for_rank[at] = true;
      graph_.awaited[rank] = true;
    }
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
    at->second = add_named(NodeKind::kResource, key, nullptr);
  }
  const std::string call = printable(view_.text(thread->wait.syscall_name), 40);
  add_edge(node, at->second, call.empty() ? std::string(wait_name(thread->wait.on)) : call + "()",
           wait_evidence(process, *thread), false);
}

std::string GraphBuilder::wait_evidence(const ProcessCapture& process,
                                        const ThreadCapture& thread) const {
  const std::string detail = printable(wait_detail(view_, process, thread), 200);
  return detail.empty() ? system_call_words(view_, thread, true) : detail;
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

std::string label_of(const JobView& view, const WaitGraph& graph, const GraphNode& node) {
  switch (node.kind) {
    case NodeKind::kRank:
      return JobView::name(view.ranks()[node.index]);
    case NodeKind::kSlot:
      return graph.slots[node.index].words;
    default:
      return graph.names[node.index];
  }
}

WaitGraph build_wait_graph(const JobView& view) {
  WaitGraph graph = GraphBuilder(view).run();
  graph.closed = closed_components(view, graph, Members::kKnown);
  return graph;
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

}  // namespace oddrank::aggregate
