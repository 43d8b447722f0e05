#include "aggregate/evidence/wait_graph.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "aggregate/evidence/graph_builder.h"
#include "aggregate/evidence/named_rank.h"
#include "aggregate/evidence/quorum.h"
#include "aggregate/evidence/server_waits.h"
#include "aggregate/view/coroutines.h"
#include "aggregate/view/decider.h"
#include "aggregate/view/rank_set.h"
#include "aggregate/view/remote_calls.h"
#include "aggregate/view/without_work.h"
#include "aggregate/words/resource_words.h"
#include "aggregate/words/wait_words.h"
#include "base/printable.h"

namespace oddrank::aggregate {

using snapshot::CallKind;
using snapshot::CollectiveCall;

namespace {

// Returns whether the slot is MPI_Finalize, and other ranks are in a call that the ranks inside
// have not made and now never will: it is no excuse that they wait for the others.
bool is_end_before_others(const std::vector<Slot>& slots, const Slot& slot) {
  return slot.op == "finalize" && slot.kind == CallKind::kCollective &&
         std::ranges::any_of(slots, [&slot](const Slot& other) {
           return &other != &slot && other.membership == Membership::kKnown &&
                  std::ranges::any_of(slot.inside, [&other](std::size_t at) {
                    return std::ranges::binary_search(other.absent, at);
                  });
         });
}

// Returns whether the thread has stood in a transfer for long, and its process moves no data: what
// the CPU moves would take its time, and what a GPU moves is not seen here.
bool has_stood_idle(const RankView& rank) {
  const auto moves_data = [](const snapshot::ThreadCapture& thread) {
    return !thread.has_python && has_used_cpu(thread);
  };
  return rank.motion.still() && rank.decider->wait.on != snapshot::WaitOn::kDevice &&
         rank.decider->wait.quiet_ms >= snapshot::kOldWaitMs &&
         std::ranges::none_of(rank.process->threads, moves_data);
}

// Returns whether the rank does something of its own, or polls.
bool is_active(const JobView& view, const RankView& rank) {
  return rank.decider != nullptr && !rank.decider->call &&
         !waits_to_serve(view.model(), *rank.decider) &&
         (rank.polls || is_at_work(*rank.decider, view.model()));
}

// Returns whether the rank has exclusively locked the part of a window that the call wants.
bool has_window(const JobView& view, std::int32_t rank, const CollectiveCall& call) {
  const std::size_t at = view.index_of(rank);
  const auto* const other = at == JobView::kNone ? nullptr : view.rank(at).decider;
  if (other == nullptr || !other->call || other->call->group != call.group) {
    return false;
  }
  const auto& had = view.ranks_of(other->call->has_windows);
  return std::ranges::find(had, call.wants_window) != had.end();
}

}  // namespace

std::vector<std::int32_t> peers_of(const JobView& view, const CollectiveCall& call) {
  if (call.peer >= 0) {
    return {call.peer};
  }
  const std::vector<std::int32_t>& peers = view.ranks_of(call.peers);
  if (call.wants_window < 0) {
    return peers;
  }
  const auto holder =
      std::ranges::find_if(peers, [&](std::int32_t rank) { return has_window(view, rank, call); });
  return holder == peers.end() ? peers : std::vector{*holder};
}

GraphBuilder::GraphBuilder(const JobView& view) : view_(view), store_keys_(view) {
  graph_.slots = find_slots(view);
  graph_.links = find_stuck_links(view);
  graph_.ends.reserve(view.ranks().size());
  for (std::size_t at = 0; at < view.ranks().size(); ++at) {
    const RankView& rank = view.rank(at);
    add_node({NodeKind::kRank, static_cast<std::uint32_t>(at), rank.process, rank.decider});
    graph_.ends.emplace_back(view, rank);
  }
  graph_.awaited.assign(view.ranks().size(), false);
  graph_.shown.assign(view.ranks().size(), false);
  graph_.in_call.assign(view.ranks().size(), false);
  graph_.lacks_own_key.assign(view.ranks().size(), false);
}

WaitGraph GraphBuilder::run() {
  for (std::size_t at = 0; at < graph_.slots.size(); ++at) {
    add_slot(at);
  }
  for (std::size_t at = 0; at < view_.ranks().size(); ++at) {
    const RankView& rank = view_.rank(at);
    add_peer(at);
    add_servers(at);
    if (rank.decider != nullptr && !rank.decider->call && !waits_in_turns(rank)) {
      add_holders(at, at, *rank.process, *rank.decider);
    }
    if (graph_.net.out[at].empty()) {
      add_named_rank(at);
    }
  }
  settle_owners();
  add_listening();
  add_accepting();
  add_open();
  add_links();
  add_stalls();
  for (std::size_t at = 0; at < view_.ranks().size(); ++at) {
    graph_.waits.push_back(waits_for_others(at));
  }
  graph_.in = reversed(graph_.out);
  return std::move(graph_);
}

std::size_t GraphBuilder::add_node(const GraphNode& node) {
  graph_.nodes.push_back(node);
  graph_.out.emplace_back();
  is_expanded_.push_back(false);
  return graph_.net.add(Join::kAll);
}

std::size_t GraphBuilder::add_choice(std::size_t node, Join join) {
  const std::size_t choice = add_node({NodeKind::kChoice, 0, nullptr, nullptr});
  graph_.net.nodes[choice].join = join;
  graph_.net.wait(node, choice);
  return choice;
}

std::size_t GraphBuilder::add_named(GraphNode node, std::string name) {
  node.index = static_cast<std::uint32_t>(graph_.names.size());
  graph_.names.push_back(std::move(name));
  return add_node(node);
}

void GraphBuilder::show(std::size_t from, std::size_t to, const Said& said, bool assumed) {
  // A name alone is an alibi for the waiter; it accuses no rank.
  if (to < graph_.awaited.size() && said.how != HowKnown::kText &&
      graph_.net.nodes[from].owner != to) {
    graph_.awaited[to] = true;
    graph_.shown[to] = graph_.shown[to] || !assumed;
  }
  add_target(graph_.out, from, to);
  graph_.edges.push_back({static_cast<std::uint32_t>(from), static_cast<std::uint32_t>(to),
                          graph_.texts.intern(said.on), graph_.texts.intern(said.evidence),
                          said.how, assumed});
}

void GraphBuilder::link(std::size_t from, std::size_t to, const Said& said, bool assumed) {
  show(from, to, said, assumed);
  graph_.net.wait(from, to);
}

void GraphBuilder::link_some(std::size_t from,
                             const std::vector<std::size_t>& to,
                             const Said& said,
                             Join join) {
  graph_.net.nodes[from].join = join;
  for (const std::size_t target : to) {
    link(from, target, said, to.size() > 1);
  }
}

void GraphBuilder::add_slot(std::size_t at) {
  const Slot& slot = graph_.slots[at];
  const std::size_t node =
      add_node({NodeKind::kSlot, static_cast<std::uint32_t>(at), nullptr, nullptr});
  if (is_end_before_others(graph_.slots, slot)) {
    return;
  }
  if (begins_again(view_, slot)) {
    for (const std::size_t rank : slot.inside) {
      graph_.net.nodes[rank].unknown = Unknown::kInside;
    }
    return;
  }
  const std::size_t lighthouse = slot.of_lighthouse ? lighthouse_of(view_, slot) : JobView::kNone;
  const bool needs_lighthouse = slot.op == "quorum" && lighthouse != JobView::kNone &&
                                (view_.rank(lighthouse).stays_stopped() ||
                                 view_.rank(lighthouse).presence == Presence::kDead);
  for (const std::size_t rank : slot.inside) {
    link(rank, node, {slot.words, slot.evidence});
    graph_.in_call[rank] = slot.absent.empty() && !needs_lighthouse;
  }
  if (needs_lighthouse) {
    link(node, lighthouse, {"its answer", "", HowKnown::kFrames});
  }
  // That the lighthouse works is known only if it was read.
  add_absent(slot, node, slot.of_lighthouse && lighthouse == JobView::kNone);
}

void GraphBuilder::add_absent(const Slot& slot, std::size_t node, bool unsure) {
  WaitNet& net = graph_.net;
  std::size_t members = node;
  const bool assumed = slot.membership == Membership::kAssumed || unsure;
  net.nodes[members].loose = !is_clear(slot);
  if (assumed && !slot.absent.empty()) {
    net.nodes[members].join = Join::kOneOf;
    net.nodes[members].unknown = Unknown::kAnybody;
    members = add_choice(members, Join::kAll);
  }
  const auto has_left = [&](std::size_t rank) {
    return may_have_left(slot, view_.rank(rank).rank);
  };
  // If all absent members may have done their part, one of them has not.
  const bool one_of = std::ranges::all_of(slot.absent, has_left);
  if (one_of && !slot.absent.empty()) {
    members = add_choice(members, Join::kOneOf);
  }
  for (const std::size_t rank : slot.absent) {
    const bool left = has_left(rank);
    const HowKnown how = slot.of_lighthouse ? HowKnown::kFrames : HowKnown::kMemory;
    show(node, rank, {"has not entered", "", how}, assumed || left);
    if (!left || one_of) {
      net.wait(members, rank);
    }
  }
}

bool GraphBuilder::is_matched(std::size_t at, std::size_t peer) const {
  const RankView& rank = view_.rank(at);
  const RankView& other = view_.rank(peer);
  if (!takes_part(other)) {
    return false;
  }
  const CollectiveCall& call = *rank.decider->call;
  const CollectiveCall& theirs = *other.decider->call;
  const bool same_group = call.group == theirs.group || call.group == snapshot::StringId{} ||
                          theirs.group == snapshot::StringId{};
  const bool opposite = theirs.kind != call.kind && is_transfer(theirs) && theirs.peer == rank.rank;
  if (!opposite || !same_group || tags_differ(call, theirs)) {
    return false;
  }
  const bool held_up = std::ranges::any_of(graph_.links, [&](const StuckLink& link) {
    return std::minmax({link.ends[0].rank, link.ends[1].rank}) == std::minmax({at, peer});
  });
  return held_up || !has_stood_idle(rank) || !has_stood_idle(other);
}

void GraphBuilder::add_peer(std::size_t at) {
  const RankView& rank = view_.rank(at);
  if (!takes_part(rank)) {
    return;
  }
  const CollectiveCall& call = *rank.decider->call;
  if (!is_transfer(call)) {
    return;
  }
  const std::vector<std::int32_t> peers = peers_of(view_, call);
  std::vector<std::size_t> found;
  for (const std::int32_t number : peers) {
    const std::size_t peer = view_.index_of(number);
    if (peer != JobView::kNone && peer != at && (peers.size() > 1 || !is_matched(at, peer))) {
      found.push_back(peer);
    }
  }
  // A transfer to or from itself that stands has no other side.
  const bool alone = peers.size() == 1 && peers.front() == rank.rank;
  graph_.in_call[at] = !alone && (found.empty() || found.size() < peers.size());
  const std::string evidence = printable(view_.text(call.evidence), 200);
  link_some(at, found, {call_words(view_, call), evidence}, Join::kAny);
}

void GraphBuilder::add_servers(std::size_t at) {
  const RankView& rank = view_.rank(at);
  if (rank.servers.empty()) {
    return;
  }
  const std::size_t node = rank.caller == rank.decider ? at : node_at(*rank.process, rank.caller);
  const auto call = remote_call(view_.model(), *rank.caller);
  graph_.net.nodes[node].owner = static_cast<std::uint32_t>(at);
  graph_.net.nodes[node].join = Join::kOneOf;
  for (const std::size_t to : rank.servers) {
    if (!rank.wants.empty()) {
      link(node, to, {resources_words(view_, rank), "it has some of that", HowKnown::kFrames},
           true);
      continue;
    }
    const RankView& server = view_.rank(to);
    const auto frame = view_.model().user_frame(server.sample());
    const std::string evidence =
        fmt::format("thread {} of it runs {}", server.decider->tid,
                    frame ? frame->name : std::string("a function for another rank"));
    const bool guessed = rank.speaks_by_coroutine() && rank.coroutine->inside;
    const HowKnown how = guessed ? HowKnown::kExclusion : HowKnown::kFrames;
    link(node, to, {call.value_or("an answer"), evidence, how}, rank.servers.size() > 1);
  }
}

void GraphBuilder::add_named_rank(std::size_t at) {
  if (view_.rank(at).process != nullptr &&
      view_.rank(at).process->replica != snapshot::StringId{}) {
    return;  // names have the numbers of the replica
  }
  const std::string name = awaited_name(view_, view_.rank(at));
  const std::string shown = printable(name, 60);
  if (const auto owner = store_keys_.owner_of(name)) {
    graph_.lacks_own_key[at] = owner->rank == at;
    if (owner->rank != at) {
      const std::string evidence =
          fmt::format("the store has the key of {}, but not {}", ranks_phrase(owner->set), shown);
      may_wait_for(at, owner->rank, {"its key", evidence, HowKnown::kExclusion}, Join::kOneOf);
    }
    return;
  }
  const snapshot::ProcessCapture* process = view_.rank(at).process;
  std::set<std::size_t> named =
      named_ranks(view_, name, process == nullptr ? 0 : process->first_rank);
  named.erase(at);
  for (const std::size_t to : named) {
    const std::string evidence = shown + " is named after it";
    may_wait_for(at, to, {"what it is to provide", evidence, HowKnown::kText}, Join::kOneOf);
  }
}

void GraphBuilder::may_wait_for(std::size_t at, std::size_t to, const Said& said, Join join) {
  link(at, to, said, true);
  graph_.net.nodes[at].join = join;
  graph_.net.nodes[at].unknown = Unknown::kAnybody;
}

void GraphBuilder::add_listening() {
  ServerClients clients(graph_.net.out);
  for (const auto& [at, holders] : listening_) {
    std::vector<std::size_t> to;
    for (const Holder& holder : holders.who) {
      const std::size_t node = node_of(at, holders, holder);
      if (node < view_.ranks().size() && node != at) {
        to.push_back(node);
      }
    }
    std::ranges::sort(to);
    to.erase(std::unique(to.begin(), to.end()), to.end());
    const bool others = holders.others || to.size() < holders.who.size();
    const auto distance = to.empty() ? std::nullopt : clients.distances_to(at);
    if (!distance) {
      continue;
    }
    // A rank that waits for this one will not send anything first. If all do, and some may have had
    // their answers, they wait for something else, or this one does.
    std::erase_if(to, [&](std::size_t rank) { return (*distance)[rank] != kFar; });
    graph_.in_call[at] = to.empty() && !holders.have_sent;
    const std::string evidence = wait_evidence(*view_.rank(at).process, *view_.rank(at).decider);
    const bool ends = waits_for_ends(view_.rank(at));
    graph_.net.nodes[at].join = Join::kAny;
    graph_.net.nodes[at].unknown = others && !to.empty() ? Unknown::kAnybody : Unknown::kNobody;
    for (const std::size_t rank : to) {
      link(at, rank, {ends ? "its end" : "a message", evidence}, others || to.size() > 1);
    }
  }
}

void GraphBuilder::add_accepting() {
  ServerClients clients(graph_.net.out);
  for (std::size_t at = 0; at < view_.ranks().size(); ++at) {
    const std::vector<std::size_t> connected = connected_ranks(view_, at);
    const auto distance = connected.empty() ? std::nullopt : clients.distances_to(at);
    if (!distance) {
      continue;
    }
    const std::string evidence =
        fmt::format("{} {} connected", ranks_phrase(view_.numbers_of(connected)),
                    connected.size() == 1 ? "has" : "have");
    graph_.net.nodes[at].join = Join::kAny;
    for (std::size_t to = 0; to < view_.ranks().size(); ++to) {
      if ((*distance)[to] == kFar) {
        may_wait_for(at, to, {"a connection", evidence, HowKnown::kExclusion}, Join::kAny);
      }
    }
  }
}

void GraphBuilder::add_open() {
  ServerClients clients(graph_.net.out);
  for (std::size_t at = 0; at < view_.ranks().size(); ++at) {
    const bool waits_alone = graph_.awaited[at] && graph_.net.out[at].empty();
    if (!waits_alone || !is_open(view_, view_.rank(at))) {
      continue;
    }
    const auto distance = clients.distances_to(at);
    const std::size_t to = distance ? only_rank_without_way(*distance) : JobView::kNone;
    if (to == JobView::kNone || graph_.awaited[to] || !is_active(view_, view_.rank(to))) {
      continue;
    }
    may_wait_for(at, to,
                 {"what it is to send", "all other ranks wait for this one", HowKnown::kExclusion},
                 Join::kAny);
  }
}

// Returns the only rank from which no wait leads there; kNone if there are several, or none.
std::size_t GraphBuilder::only_rank_without_way(const std::vector<std::size_t>& distance) const {
  const auto end = distance.begin() + static_cast<std::ptrdiff_t>(view_.ranks().size());
  const auto first = std::find(distance.begin(), end, kFar);
  const bool is_only = first != end && std::find(first + 1, end, kFar) == end;
  return is_only ? static_cast<std::size_t>(first - distance.begin()) : JobView::kNone;
}

const GraphEdge* WaitGraph::edge(std::size_t from, std::size_t to) const {
  // A node has few edges unless it is a slot; callers start from ranks and processes.
  if (std::ranges::find(out[from], to) == out[from].end()) {
    return nullptr;
  }
  const auto at = std::ranges::find_if(
      edges, [from, to](const GraphEdge& edge) { return edge.from == from && edge.to == to; });
  return at == edges.end() ? nullptr : &*at;
}

std::string label_of(const JobView& view, const WaitGraph& graph, const GraphNode& node) {
  switch (node.kind) {
    case NodeKind::kRank:
      return JobView::name(view.rank(node.index));
    case NodeKind::kSlot:
      return graph.slots[node.index].words;
    case NodeKind::kLink:
      return link_words(view, graph.links[node.index]);
    case NodeKind::kDevice:
      return device_words(view, graph.devices[node.index]);
    default:
      return graph.names[node.index];
  }
}

WaitGraph build_wait_graph(const JobView& view) {
  return GraphBuilder(view).run();
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

}  // namespace oddrank::aggregate
