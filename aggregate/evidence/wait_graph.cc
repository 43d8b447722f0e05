#include "aggregate/evidence/wait_graph.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "aggregate/evidence/named_rank.h"
#include "aggregate/evidence/server_waits.h"
#include "aggregate/view/decider.h"
#include "aggregate/view/rank_set.h"
#include "aggregate/view/remote_calls.h"
#include "aggregate/view/thread_cycle.h"
#include "aggregate/words/wait_words.h"
#include "base/printable.h"

namespace oddrank::aggregate {

using snapshot::CallKind;
using snapshot::CollectiveCall;
using snapshot::ProcessCapture;
using snapshot::ThreadCapture;

namespace {

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

// Returns whether the thread waits for a lock that another process has taken.
bool is_for_taken_lock(const snapshot::Wait& wait) {
  return wait.on == snapshot::WaitOn::kFileLock ||
         wait.lock.owner == snapshot::LockOwner::kAcquired;
}

// Returns the ranks that may be the other side of a transfer.
std::vector<std::int32_t> peers_of(const JobView& view, const CollectiveCall& call) {
  return call.peer >= 0 ? std::vector{call.peer} : view.ranks_of(call.peers);
}

// A wait in words.
struct Said {
  std::string_view on;
  std::string_view evidence;
  HowKnown how = HowKnown::kMemory;
};

// Returns whether the rank does something of its own, or asks for something again and again.
bool is_active(const JobView& view, const RankView& rank) {
  return rank.decider != nullptr && !rank.decider->call &&
         (rank.polls || is_at_work(*rank.decider, view.model()));
}

class GraphBuilder {
 public:
  explicit GraphBuilder(const JobView& view);
  WaitGraph run();

 private:
  std::size_t add_node(const GraphNode& node);
  std::size_t add_named(GraphNode node, std::string name);
  void show(std::size_t from, std::size_t to, const Said& said, bool assumed);
  // Shows it, and it counts.
  void link(std::size_t from, std::size_t to, const Said& said);
  // Shows all, and one of them counts: which one is not known, or whichever comes first.
  void link_some(std::size_t from, const std::vector<std::size_t>& to, const Said& said, Join join);

  void add_slot(std::size_t at);
  // Adds the wait for the other side of a transfer; for each of those that are possible, if there
  // are several.
  void add_peer(std::size_t at);
  // Returns whether both sides of one transfer are inside: then neither waits for the other's
  // program.
  bool is_matched(const CollectiveCall& call, std::int32_t rank, const RankView& peer) const;
  // Adds the waits for the ranks that may run a function for this one.
  void add_servers(std::size_t at);
  // Adds the waits of servers and event loops for those of their clients that do not wait for them.
  void add_listening();
  // Adds the waits of ranks that accept connections for those that do not wait for them.
  void add_accepting();
  // Adds the waits of ranks that take in what others send for the one rank that does not wait for
  // them, nor is awaited otherwise, and does something else: nobody is left beside it.
  void add_open();
  std::size_t only_rank_without_way(const std::vector<std::size_t>& distance) const;
  // Adds the waits of calls, and of ranks outside of collectives, for links that do not carry.
  void add_links();
  bool needs_link(std::size_t at, const StuckLink& link) const;
  // Adds the waits for links and GPUs at which NCCL's data stands.
  void add_stalls();
  std::size_t link_node(StuckLink link);
  void wait_also(std::size_t node, std::size_t link, const Said& said);

  // Adds the wait for the rank after which a key or file is named.
  void add_named_rank(std::size_t at);

  // Adds who holds a thread's wait, and so on from there, for the rank that they belong to; then
  // the thing at the end.
  void add_holders(std::size_t node,
                   std::size_t rank,
                   const ProcessCapture& process,
                   const ThreadCapture& thread);
  void add_holder(std::size_t node, std::size_t rank, const Holders& holders, const Holder& holder);
  std::size_t node_of(std::size_t rank, const Holders& holders, const Holder& holder);
  std::size_t thread_node(const ProcessCapture& process, const ThreadCapture& thread);
  void expand(std::size_t node, std::size_t rank, const ThreadCapture* thread);
  void add_resource(std::size_t node, const ProcessCapture& process, const ThreadCapture& thread);
  // A process for which the rank that it belongs to waits as well is that rank's; so is one that
  // has taken a lock. Any other may serve whoever asks it.
  void settle_owners();
  // Returns whether the node is a process of another rank, which answers for it.
  bool is_of_another(std::size_t node, std::size_t rank) const;
  bool waits_for_others(std::size_t rank) const;
  std::string wait_evidence(const ProcessCapture& process, const ThreadCapture& thread) const;

  const JobView& view_;
  WaitGraph graph_;
  std::map<std::pair<const ProcessCapture*, const ThreadCapture*>, std::size_t> known_nodes_;
  std::map<std::string, std::size_t> resource_nodes_;
  std::vector<std::pair<std::size_t, Holders>> listening_;    // ranks, and whom they listen to
  std::vector<std::pair<std::size_t, std::size_t>> reached_;  // rank, node of a process
  std::vector<bool> is_expanded_;                             // by node
};

GraphBuilder::GraphBuilder(const JobView& view) : view_(view) {
  graph_.slots = find_slots(view);
  for (std::size_t at = 0; at < view.ranks().size(); ++at) {
    const RankView& rank = view.ranks()[at];
    add_node({NodeKind::kRank, static_cast<std::uint32_t>(at), rank.process, rank.decider});
  }
  graph_.awaited.assign(view.ranks().size(), false);
  graph_.shown.assign(view.ranks().size(), false);
  graph_.in_call.assign(view.ranks().size(), false);
}

WaitGraph GraphBuilder::run() {
  for (std::size_t at = 0; at < graph_.slots.size(); ++at) {
    add_slot(at);
  }
  for (std::size_t at = 0; at < view_.ranks().size(); ++at) {
    const RankView& rank = view_.ranks()[at];
    add_peer(at);
    add_servers(at);
    if (rank.decider != nullptr && !rank.decider->call) {
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
  const std::size_t at = graph_.nodes.size();
  graph_.nodes.push_back(node);
  graph_.out.emplace_back();
  graph_.net_node.push_back(WaitGraph::kNotInNet);
  is_expanded_.push_back(false);
  if (node.kind != NodeKind::kResource) {
    graph_.net_node[at] = static_cast<std::uint32_t>(graph_.net.add(Join::kAll));
    graph_.of_net.resize(graph_.net.nodes.size(), WaitGraph::kNotInNet);
    graph_.of_net.back() = static_cast<std::uint32_t>(at);
  }
  return at;
}

std::size_t GraphBuilder::add_named(GraphNode node, std::string name) {
  node.index = static_cast<std::uint32_t>(graph_.names.size());
  graph_.names.push_back(std::move(name));
  return add_node(node);
}

void GraphBuilder::show(std::size_t from, std::size_t to, const Said& said, bool assumed) {
  // A name alone is an alibi for who waits; it accuses nobody.
  if (to < graph_.awaited.size() && said.how != HowKnown::kText &&
      graph_.net.nodes[graph_.net_node[from]].owner != to) {
    graph_.awaited[to] = true;
    graph_.shown[to] = graph_.shown[to] || !assumed;
  }
  add_target(graph_.out, from, to);
  graph_.edges.push_back({static_cast<std::uint32_t>(from), static_cast<std::uint32_t>(to),
                          graph_.texts.intern(said.on), graph_.texts.intern(said.evidence),
                          said.how, assumed});
}

void GraphBuilder::link(std::size_t from, std::size_t to, const Said& said) {
  show(from, to, said, false);
  graph_.net.wait(graph_.net_node[from], graph_.net_node[to]);
}

void GraphBuilder::link_some(std::size_t from,
                             const std::vector<std::size_t>& to,
                             const Said& said,
                             Join join) {
  graph_.net.nodes[graph_.net_node[from]].join = join;
  for (const std::size_t target : to) {
    show(from, target, said, to.size() > 1);
    graph_.net.wait(graph_.net_node[from], graph_.net_node[target]);
  }
}

void GraphBuilder::add_slot(std::size_t at) {
  const Slot& slot = graph_.slots[at];
  const std::size_t node =
      add_node({NodeKind::kSlot, static_cast<std::uint32_t>(at), nullptr, nullptr});
  if (is_end_before_others(graph_.slots, slot)) {
    return;
  }
  for (const std::size_t rank : slot.inside) {
    link(rank, node, {slot.words, slot.evidence});
    graph_.in_call[rank] = slot.absent.empty();
  }
  WaitNet& net = graph_.net;
  std::size_t members = graph_.net_node[node];
  const bool assumed = slot.membership == Membership::kAssumed;
  net.nodes[members].loose = !is_clear(slot);
  if (assumed && !slot.absent.empty()) {
    net.nodes[members].join = Join::kOneOf;
    net.nodes[members].unknown = Unknown::kAnybody;
    const std::size_t all = net.add(Join::kAll);
    net.wait(members, all);
    members = all;
  }
  const auto has_left = [&](std::size_t rank) {
    return may_have_left(slot, view_.ranks()[rank].rank);
  };
  // If all that are absent may have done their part, one of them has not.
  const bool one_of = std::all_of(slot.absent.begin(), slot.absent.end(), has_left);
  if (one_of && !slot.absent.empty()) {
    const std::size_t one = net.add(Join::kOneOf);
    net.wait(members, one);
    members = one;
  }
  for (const std::size_t rank : slot.absent) {
    const bool left = has_left(rank);
    show(node, rank, {"has not entered", ""}, assumed || left);
    if (!left || one_of) {
      net.wait(members, rank);
    }
  }
  graph_.of_net.resize(net.nodes.size(), WaitGraph::kNotInNet);
}

bool GraphBuilder::is_matched(const CollectiveCall& call,
                              std::int32_t rank,
                              const RankView& peer) const {
  if (!takes_part(peer)) {
    return false;
  }
  const CollectiveCall& other = *peer.decider->call;
  const bool same_tag = call.tag < 0 || other.tag < 0 || call.tag == other.tag;
  const bool same_group = call.group == other.group || call.group == snapshot::StringId{} ||
                          other.group == snapshot::StringId{};
  return other.kind != call.kind &&
         (other.kind == CallKind::kSend || other.kind == CallKind::kRecv) && other.peer == rank &&
         same_tag && same_group;
}

void GraphBuilder::add_peer(std::size_t at) {
  const RankView& rank = view_.ranks()[at];
  if (!takes_part(rank)) {
    return;
  }
  const CollectiveCall& call = *rank.decider->call;
  if (call.kind != CallKind::kSend && call.kind != CallKind::kRecv) {
    return;
  }
  const std::vector<std::int32_t> peers = peers_of(view_, call);
  std::vector<std::size_t> found;
  for (const std::int32_t number : peers) {
    const std::size_t peer = view_.index_of(number);
    if (peer != JobView::kNone && peer != at &&
        (peers.size() > 1 || !is_matched(call, rank.rank, view_.ranks()[peer]))) {
      found.push_back(peer);
    }
  }
  graph_.in_call[at] = found.empty() || found.size() < peers.size();
  const std::string evidence = printable(view_.text(call.evidence), 200);
  link_some(at, found, {call_words(view_, call), evidence}, Join::kAny);
}

void GraphBuilder::add_servers(std::size_t at) {
  const RankView& rank = view_.ranks()[at];
  if (rank.servers.empty()) {
    return;
  }
  const std::size_t node =
      rank.caller == rank.decider ? at : thread_node(*rank.process, *rank.caller);
  const std::uint32_t net = graph_.net_node[node];
  const auto call = remote_call(view_.model(), *rank.caller);
  graph_.net.nodes[net].owner = static_cast<std::uint32_t>(at);
  graph_.net.nodes[net].join = Join::kOneOf;
  for (const std::size_t to : rank.servers) {
    const RankView& server = view_.ranks()[to];
    const auto frame =
        server.sample() == nullptr ? std::nullopt : view_.model().user_frame(*server.sample());
    const std::string evidence =
        fmt::format("thread {} of it runs {}", server.decider->tid,
                    frame ? frame->name : std::string("a function for another rank"));
    show(node, to, {call.value_or("an answer"), evidence, HowKnown::kFrames},
         rank.servers.size() > 1);
    graph_.net.wait(net, to);
  }
}

void GraphBuilder::add_named_rank(std::size_t at) {
  const std::string name = awaited_name(view_, view_.ranks()[at]);
  std::set<std::size_t> named = named_ranks(view_, name);
  named.erase(at);
  for (const std::size_t to : named) {
    const std::string evidence = printable(name, 60) + " is named after it";
    show(at, to, {"what it is to provide", evidence, HowKnown::kText}, true);
    graph_.net.wait(at, to);
    graph_.net.nodes[at].join = Join::kOneOf;
    graph_.net.nodes[at].unknown = Unknown::kAnybody;
  }
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
    std::sort(to.begin(), to.end());
    to.erase(std::unique(to.begin(), to.end()), to.end());
    const bool others = holders.others || to.size() < holders.who.size();
    const auto distance = to.empty() ? std::nullopt : clients.distances_to(at);
    if (!distance) {
      continue;
    }
    // A rank that waits for this one will not send anything before. If all do, and some may have
    // had their answers, they wait for something else, or this one does.
    std::erase_if(to, [&](std::size_t rank) { return (*distance)[rank] != kFar; });
    graph_.in_call[at] = to.empty() && !holders.have_sent;
    const std::string evidence =
        wait_evidence(*view_.ranks()[at].process, *view_.ranks()[at].decider);
    graph_.net.nodes[at].join = Join::kAny;
    graph_.net.nodes[at].unknown = others && !to.empty() ? Unknown::kAnybody : Unknown::kNobody;
    for (const std::size_t rank : to) {
      show(at, rank, {"a message", evidence}, others || to.size() > 1);
      graph_.net.wait(at, rank);
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
    std::vector<std::int32_t> numbers;
    numbers.reserve(connected.size());
    for (const std::size_t client : connected) {
      numbers.push_back(view_.ranks()[client].rank);
    }
    const std::string evidence =
        fmt::format("{} {} connected", ranks_phrase(numbers), numbers.size() == 1 ? "has" : "have");
    graph_.net.nodes[at].join = Join::kAny;
    for (std::size_t to = 0; to < view_.ranks().size(); ++to) {
      if ((*distance)[to] == kFar) {
        show(at, to, {"a connection", evidence, HowKnown::kExclusion}, true);
        graph_.net.wait(at, to);
        graph_.net.nodes[at].unknown = Unknown::kAnybody;
      }
    }
  }
}

void GraphBuilder::add_open() {
  ServerClients clients(graph_.net.out);
  for (std::size_t at = 0; at < view_.ranks().size(); ++at) {
    const bool waits_alone = graph_.awaited[at] && graph_.net.out[at].empty();
    if (!waits_alone || !is_open(view_, view_.ranks()[at])) {
      continue;
    }
    const auto distance = clients.distances_to(at);
    const std::size_t to = distance ? only_rank_without_way(*distance) : JobView::kNone;
    if (to == JobView::kNone || graph_.awaited[to] || !is_active(view_, view_.ranks()[to])) {
      continue;
    }
    show(at, to, {"what it is to send", "all other ranks wait for this one", HowKnown::kExclusion},
         true);
    graph_.net.wait(at, to);
    graph_.net.nodes[at].join = Join::kAny;
    graph_.net.nodes[at].unknown = Unknown::kAnybody;
  }
}

// Returns the only rank from which no wait leads there; kNone if there are several, or none.
std::size_t GraphBuilder::only_rank_without_way(const std::vector<std::size_t>& distance) const {
  const auto end = distance.begin() + static_cast<std::ptrdiff_t>(view_.ranks().size());
  const auto first = std::find(distance.begin(), end, kFar);
  const bool is_only = first != end && std::find(first + 1, end, kFar) == end;
  return is_only ? static_cast<std::size_t>(first - distance.begin()) : JobView::kNone;
}

// Returns whether the rank, in no collective, waits for the other end of the link.
bool GraphBuilder::needs_link(std::size_t at, const StuckLink& link) const {
  const RankView& rank = view_.ranks()[at];
  const std::size_t other = link.ends[0].rank == at ? link.ends[1].rank : link.ends[0].rank;
  if (!takes_part(rank)) {
    const auto& targets = graph_.net.out[at];
    return rank.decider != nullptr &&
           std::find(targets.begin(), targets.end(), other) != targets.end();
  }
  const CollectiveCall& call = *rank.decider->call;
  if (call.kind != CallKind::kSend && call.kind != CallKind::kRecv) {
    return false;
  }
  const std::vector<std::int32_t> peers = peers_of(view_, call);
  return std::find(peers.begin(), peers.end(), view_.ranks()[other].rank) != peers.end();
}

// Besides what the node waits for anyhow.
void GraphBuilder::wait_also(std::size_t node, std::size_t link, const Said& said) {
  WaitNet& net = graph_.net;
  const std::size_t at = graph_.net_node[node];
  if (net.nodes[at].join != Join::kAll || net.nodes[at].unknown != Unknown::kNobody) {
    const std::size_t before = net.add(net.nodes[at].join);
    net.nodes[before].unknown = net.nodes[at].unknown;
    net.nodes[before].owner = net.nodes[at].owner;
    std::swap(net.out[before], net.out[at]);
    net.nodes[at].join = Join::kAll;
    net.nodes[at].unknown = Unknown::kNobody;
    net.wait(at, before);
    graph_.of_net.resize(net.nodes.size(), WaitGraph::kNotInNet);
  }
  this->link(node, link, said);
}

void GraphBuilder::add_links() {
  graph_.links = find_stuck_links(view_);
  for (std::size_t i = 0; i < graph_.links.size(); ++i) {
    const StuckLink& link = graph_.links[i];
    const std::size_t node =
        add_node({NodeKind::kLink, static_cast<std::uint32_t>(i), nullptr, nullptr});
    const std::string evidence = link_evidence(link);
    const Said said{"a link that does not carry", evidence, HowKnown::kKernel};
    for (std::size_t at = 0; at < graph_.nodes.size(); ++at) {
      if (graph_.nodes[at].kind == NodeKind::kSlot &&
          is_between_members(graph_.slots[graph_.nodes[at].index], link)) {
        wait_also(at, node, said);
      }
    }
    for (const StuckLink::End& end : link.ends) {
      if (needs_link(end.rank, link)) {
        wait_also(end.rank, node, said);
      }
    }
  }
}

// Returns the node of the link, of which the kernel may have told as well.
std::size_t GraphBuilder::link_node(StuckLink link) {
  const auto ends = std::minmax({link.ends[0].rank, link.ends[1].rank});
  for (std::size_t at = view_.ranks().size(); at < graph_.nodes.size(); ++at) {
    if (graph_.nodes[at].kind == NodeKind::kLink) {
      const StuckLink& known = graph_.links[graph_.nodes[at].index];
      if (std::minmax({known.ends[0].rank, known.ends[1].rank}) == ends) {
        return at;
      }
    }
  }
  graph_.links.push_back(std::move(link));
  return add_node(
      {NodeKind::kLink, static_cast<std::uint32_t>(graph_.links.size() - 1), nullptr, nullptr});
}

void GraphBuilder::add_stalls() {
  ProxyWaits found = find_proxy_waits(view_);
  const auto is_at_device = [this](std::size_t at) {
    const ThreadCapture* decider = view_.ranks()[at].decider;
    return decider != nullptr && decider->wait.on == snapshot::WaitOn::kDevice;
  };
  for (const std::size_t at : found.waiting) {
    graph_.in_call[at] = graph_.in_call[at] || is_at_device(at);
  }
  for (ProxyStall& stall : found.stalls) {
    const bool is_link = stall.kind == ProxyStall::Kind::kLink;
    if (!stall.sure || (!is_link && stall.ranks.size() > 1)) {
      graph_.unsure_stalls.push_back(std::move(stall));
      continue;
    }
    const std::vector<std::size_t> waiters = stall.waiters;
    std::string evidence;
    std::size_t node = 0;
    if (is_link) {
      StuckLink link = stuck_link_of(view_, stall);
      evidence = link_evidence(link);
      node = link_node(std::move(link));
    } else {
      evidence = device_evidence(stall);
      node = add_node(
          {NodeKind::kDevice, static_cast<std::uint32_t>(graph_.devices.size()), nullptr, nullptr});
      show(node, stall.ranks.front(), {"its rank", evidence, HowKnown::kMemory}, false);
      graph_.devices.push_back(std::move(stall));
    }
    const Said said{is_link ? "a link that does not carry" : "a GPU that does not go on", evidence,
                    HowKnown::kMemory};
    for (std::size_t at = 0; at < graph_.nodes.size(); ++at) {
      if (graph_.nodes[at].kind == NodeKind::kSlot &&
          has_any(graph_.slots[graph_.nodes[at].index].inside, waiters)) {
        wait_also(at, node, said);
      }
    }
    for (const std::size_t at : waiters) {
      if (is_at_device(at)) {
        wait_also(at, node, said);
      }
    }
  }
}

std::size_t GraphBuilder::thread_node(const ProcessCapture& process, const ThreadCapture& thread) {
  const auto [at, is_new] = known_nodes_.try_emplace({&process, &thread}, 0);
  if (is_new) {
    at->second = add_named(
        {NodeKind::kThread, 0, &process, &thread},
        fmt::format("{} of {}", thread_words(view_, thread), process_words(view_, process)));
  }
  return at->second;
}

// Returns the node of a holder: of its rank, if it is one, or if the wait is for whoever sends
// something and another rank has started it.
std::size_t GraphBuilder::node_of(std::size_t rank, const Holders& holders, const Holder& holder) {
  const ProcessCapture& process = *holder.process;
  if (holder.thread != nullptr) {
    const RankView& own = view_.ranks()[rank];
    return own.process == &process && own.decider == holder.thread
               ? rank
               : thread_node(process, *holder.thread);
  }
  const ProcessCapture* owner =
      process.is_rank ? &process : view_.process(process.node, process.owner);
  if (process.is_rank || (holders.join == Join::kAny && owner != nullptr && owner->is_rank &&
                          owner != view_.ranks()[rank].process)) {
    return view_.index_of_rank(*owner);
  }
  const auto [at, is_new] = known_nodes_.try_emplace({&process, nullptr}, 0);
  if (is_new) {
    at->second = add_named({NodeKind::kProcess, 0, &process, nullptr},
                           fmt::format("pid {} ({})", process.pid, child_words(view_, process)));
  }
  return at->second;
}

void GraphBuilder::add_holders(std::size_t node,
                               std::size_t rank,
                               const ProcessCapture& process,
                               const ThreadCapture& thread) {
  constexpr std::size_t kMaxAnswering = 64;
  const Holders holders = holders_of(view_, process, thread);
  const auto is_own = [&](const Holder& holder) {
    return holder.process->owner == view_.ranks()[rank].process->pid;
  };
  if (holders.join == Join::kAny && !std::all_of(holders.who.begin(), holders.who.end(), is_own)) {
    if (node == rank) {
      listening_.emplace_back(rank, holders);
    }
    return;
  }
  if (holders.who.empty() || holders.who.size() > kMaxAnswering) {
    add_resource(node, process, thread);
    return;
  }
  WaitNet::Node& net = graph_.net.nodes[graph_.net_node[node]];
  net.join = holders.join;
  net.unknown = holders.others ? Unknown::kAnybody : Unknown::kNobody;
  for (const Holder& holder : holders.who) {
    add_holder(node, rank, holders, holder);
  }
}

void GraphBuilder::add_holder(std::size_t node,
                              std::size_t rank,
                              const Holders& holders,
                              const Holder& holder) {
  const GraphNode from = graph_.nodes[node];
  const ThreadCapture* thread =
      from.thread != nullptr ? from.thread : deciding_thread(view_, *from.process);
  const std::size_t to = node_of(rank, holders, holder);
  if (to == JobView::kNone || (to == node && holder.thread == nullptr)) {
    return;
  }
  // Another thread of that process may be the one that answers, whatever the one does that speaks
  // for it.
  const bool serves = to < view_.ranks().size() && to != rank && holders.join == Join::kAll;
  const ThreadCapture* speaker = serves ? view_.ranks()[to].decider : nullptr;
  const auto at_work = serves ? answering_threads(thread->wait, *holder.process, speaker)
                              : std::vector<const ThreadCapture*>();
  const bool beside =
      serves && (!at_work.empty() || answers_beside(view_, thread->wait, *holder.process, speaker));
  if (beside) {
    WaitNet::Node& net = graph_.net.nodes[graph_.net_node[node]];
    net.join = Join::kOneOf;
    net.unknown = at_work.empty() ? Unknown::kAnybody : Unknown::kNobody;
  }
  for (const ThreadCapture* each : at_work) {
    const std::size_t other = thread_node(*holder.process, *each);
    show(node, other, {"an answer", "it may be at work on it", HowKnown::kExclusion}, true);
    graph_.net.wait(graph_.net_node[node], graph_.net_node[other]);
    expand(other, to, each);
  }
  std::string on = holder.thread != nullptr ? awaited_thing(*thread)
                                            : fmt::format("{} ({})", wait_name(thread->wait.on),
                                                          process_words(view_, *holder.process));
  if (holder.thread != nullptr && holders.how == HowKnown::kExclusion) {
    on += fmt::format(", which {} may {}", thread_words(view_, *holder.thread),
                      is_at_own_lock(*thread) ? "release" : "send");
  }
  show(node, to, {on, wait_evidence(*from.process, *thread), holders.how},
       beside || holders.who.size() > 1 || holders.others);
  graph_.net.wait(graph_.net_node[node], graph_.net_node[to]);
  if (to >= view_.ranks().size()) {
    reached_.emplace_back(rank, to);
    const std::size_t keeper =
        is_for_taken_lock(thread->wait) ? view_.index_of_owner(*holder.process) : JobView::kNone;
    expand(to, keeper == JobView::kNone ? rank : keeper, holder.thread);
  }
}

void GraphBuilder::expand(std::size_t node, std::size_t rank, const ThreadCapture* thread) {
  if (is_expanded_[node]) {
    return;
  }
  is_expanded_[node] = true;
  graph_.net.nodes[graph_.net_node[node]].owner = static_cast<std::uint32_t>(rank);
  const ProcessCapture& process = *graph_.nodes[node].process;
  thread = thread == nullptr ? deciding_thread(view_, process) : thread;
  if (thread != nullptr && !thread->call) {
    add_holders(node, rank, process, *thread);
  }
}

void GraphBuilder::add_resource(std::size_t node,
                                const ProcessCapture& process,
                                const ThreadCapture& thread) {
  const std::string path = printable(view_.text(thread.wait.path));
  if (path.empty()) {
    return;
  }
  // Pipes and sockets of two nodes may have the same name by chance; files may be shared.
  const std::string key =
      path.front() == '/' ? path : fmt::format("{} on {}", path, view_.host(process));
  const auto [at, is_new] = resource_nodes_.try_emplace(key, 0);
  if (is_new) {
    at->second = add_named({NodeKind::kResource, 0, nullptr, nullptr}, key);
  }
  const std::string call = printable(view_.text(thread.wait.syscall_name), 40);
  show(node, at->second,
       {call.empty() ? std::string(wait_name(thread.wait.on)) : call + "()",
        wait_evidence(process, thread), HowKnown::kKernel},
       false);
}

bool GraphBuilder::is_of_another(std::size_t node, std::size_t rank) const {
  if (node == WaitGraph::kNotInNet || graph_.nodes[node].kind != NodeKind::kProcess) {
    return false;
  }
  const std::size_t owner = graph_.net.nodes[graph_.net_node[node]].owner;
  return owner != rank && owner == view_.index_of_owner(*graph_.nodes[node].process);
}

void GraphBuilder::settle_owners() {
  for (const auto& [rank, node] : reached_) {
    if (view_.index_of_owner(*graph_.nodes[node].process) == rank) {
      graph_.net.nodes[graph_.net_node[node]].owner = static_cast<std::uint32_t>(rank);
    }
  }
  for (const auto& [rank, node] : reached_) {
    const std::size_t owner = graph_.net.nodes[graph_.net_node[node]].owner;
    if (owner != rank && graph_.edge(rank, owner) == nullptr &&
        graph_.nodes[node].kind == NodeKind::kProcess) {
      show(rank, owner,
           {"its process", "both wait for " + label_of(view_, graph_, graph_.nodes[node]),
            HowKnown::kKernel},
           false);
    }
  }
}

// Returns whether the rank waits for another one, by itself or through its threads and processes.
bool GraphBuilder::waits_for_others(std::size_t rank) const {
  std::vector<std::size_t> todo = {rank};
  std::set<std::size_t> seen = {rank};
  while (!todo.empty()) {
    const std::size_t node = todo.back();
    todo.pop_back();
    for (const std::size_t to : graph_.net.out[node]) {
      const bool own = graph_.net.nodes[to].owner == rank;
      const std::uint32_t at = graph_.of_net[to];
      const bool is_below =
          at != WaitGraph::kNotInNet &&
          (graph_.nodes[at].kind == NodeKind::kLink || graph_.nodes[at].kind == NodeKind::kDevice);
      const bool is_full = to >= view_.ranks().size() && graph_.net.out[to].empty() && !is_below &&
                           !is_of_another(at, rank);
      if (!own && !is_full) {
        return true;
      }
      if (own && graph_.of_net[to] != WaitGraph::kNotInNet && seen.insert(to).second) {
        todo.push_back(to);
      }
    }
  }
  return false;
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
