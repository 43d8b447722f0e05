// The waits of ranks for threads and processes, and of these for further ones and for resources.
#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "aggregate/evidence/graph_builder.h"
#include "aggregate/evidence/server_waits.h"
#include "aggregate/view/decider.h"
#include "aggregate/view/remote_calls.h"
#include "aggregate/view/thread_cycle.h"
#include "aggregate/words/wait_words.h"
#include "base/printable.h"

namespace oddrank::aggregate {

using snapshot::ProcessCapture;
using snapshot::ThreadCapture;

std::size_t GraphBuilder::node_at(const ProcessCapture& process, const ThreadCapture* thread) {
  const auto [at, is_new] = known_nodes_.try_emplace({&process, thread}, 0);
  if (is_new) {
    at->second =
        thread == nullptr
            ? add_named({NodeKind::kProcess, 0, &process, nullptr},
                        fmt::format("pid {} ({})", process.pid, child_words(view_, process)))
            : add_named({NodeKind::kThread, 0, &process, thread},
                        fmt::format("{} of {}", thread_words(view_, *thread),
                                    process_words(view_, process)));
  }
  return at->second;
}

// Returns the node of a holder: its rank's, if it is a rank, or if the wait is for any sender and
// another rank has started the holder.
std::size_t GraphBuilder::node_of(std::size_t rank, const Holders& holders, const Holder& holder) {
  const ProcessCapture& process = *holder.process;
  const RankView& own = view_.rank(rank);
  if (holder.thread != nullptr && own.process == &process && own.decider == holder.thread) {
    return rank;
  }
  const std::size_t owner = view_.index_of_owner(process);
  const bool is_of_rank =
      process.is_rank || (holders.join == Join::kAny && owner != JobView::kNone && owner != rank);
  return holder.thread == nullptr && is_of_rank ? owner : node_at(process, holder.thread);
}

void GraphBuilder::add_holders(std::size_t node,
                               std::size_t rank,
                               const ProcessCapture& process,
                               const ThreadCapture& thread) {
  constexpr std::size_t kMaxAnswering = 64;
  const Holders holders = holders_of(view_, process, thread);
  const auto is_own = [&](const Holder& holder) {
    return holder.process->owner == view_.rank(rank).process->pid;
  };
  if (holders.join == Join::kAny && !std::ranges::all_of(holders.who, is_own)) {
    if (node == rank) {
      listening_.emplace_back(rank, holders);
    }
    return;
  }
  if (holders.who.empty() || holders.who.size() > kMaxAnswering) {
    add_resource(node, process, thread);
    return;
  }
  // A thread that only passes on the answer within its process does not owe it.
  const RankView& caller = view_.rank(rank);
  if (node == rank && caller.caller == &thread && !caller.servers.empty() &&
      std::ranges::all_of(
          holders.who, [&process](const Holder& holder) { return holder.process == &process; })) {
    return;
  }
  WaitNet::Node& net = graph_.net.nodes[node];
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
  if (holder.thread == nullptr && add_keepers(node, rank, *thread, *holder.process)) {
    return;
  }
  if (holder.thread == nullptr &&
      is_read_at_other_end(view_, *from.process, thread->wait, *holder.process)) {
    graph_.net.nodes[node].unknown = Unknown::kAnybody;
    graph_.in_call[rank] = graph_.in_call[rank] || node == rank;
    return;
  }
  const std::size_t to = node_of(rank, holders, holder);
  if (to == JobView::kNone || (to == node && holder.thread == nullptr)) {
    return;
  }
  // Another thread of that process may answer, whatever its deciding thread does.
  const bool serves = to < view_.ranks().size() && to != rank && holders.join == Join::kAll;
  const ThreadCapture* speaker = serves ? view_.rank(to).decider : nullptr;
  const auto at_work = serves ? answering_threads(thread->wait, *holder.process, speaker)
                              : std::vector<const ThreadCapture*>();
  const bool beside =
      serves && (!at_work.empty() || answers_beside(view_, thread->wait, *holder.process, speaker));
  if (beside) {
    WaitNet::Node& net = graph_.net.nodes[node];
    net.join = Join::kOneOf;
    net.unknown = at_work.empty() ? Unknown::kAnybody : Unknown::kNobody;
  }
  for (const ThreadCapture* each : at_work) {
    const std::size_t other = node_at(*holder.process, each);
    link(node, other, {"an answer", "it may be at work on it", HowKnown::kExclusion}, true);
    expand(other, to, each);
  }
  std::string on = holder.thread != nullptr && is_coroutine(*holder.thread) ? "its end"
                   : holder.thread != nullptr                               ? awaited_thing(*thread)
                                              : fmt::format("{} ({})", wait_name(thread->wait.on),
                                                            process_words(view_, *holder.process));
  if (holder.thread != nullptr && holders.how == HowKnown::kExclusion) {
    on += fmt::format(", which {} may {}", thread_words(view_, *holder.thread),
                      is_at_own_lock(*thread) ? "release" : "send");
  }
  link(node, to, {on, wait_evidence(*from.process, *thread), holders.how},
       beside || holders.who.size() > 1 || holders.others);
  if (to >= view_.ranks().size()) {
    reached_.emplace_back(rank, to);
    const std::size_t keeper = view_.index_of_owner(*holder.process);
    expand(to, keeper == JobView::kNone ? rank : keeper, holder.thread);
  }
}

// Adds the waits for the threads that use the other end of a connection. Returns false if none is
// known, or one is in a collective, or the process is stopped: then the wait is for all of it.
bool GraphBuilder::add_keepers(std::size_t node,
                               std::size_t rank,
                               const ThreadCapture& thread,
                               const ProcessCapture& server) {
  const ProcessCapture& process = *graph_.nodes[node].process;
  const auto keepers = keepers_of(view_, process, thread.wait, server);
  if (keepers.empty() || server.state == 'T' ||
      std::ranges::any_of(keepers, [](const auto* one) { return one->call.has_value(); })) {
    return false;
  }
  const std::size_t owner = view_.index_of_owner(server);
  graph_.net.nodes[node].join = keepers.size() > 1 ? Join::kOneOf : Join::kAll;
  for (const ThreadCapture* keeper : keepers) {
    const bool speaks = owner != JobView::kNone && view_.rank(owner).process == &server &&
                        view_.rank(owner).decider == keeper;
    const std::size_t to = speaks ? owner : node_at(server, keeper);
    const std::string on = fmt::format("{} ({} of {})", wait_name(thread.wait.on),
                                       thread_words(view_, *keeper), process_words(view_, server));
    link(node, to, {on, wait_evidence(process, thread), HowKnown::kMemory}, keepers.size() > 1);
    if (!speaks) {
      expand(to, owner == JobView::kNone ? rank : owner, keeper);
    }
  }
  return true;
}

void GraphBuilder::expand(std::size_t node, std::size_t rank, const ThreadCapture* thread) {
  if (is_expanded_[node]) {
    return;
  }
  is_expanded_[node] = true;
  graph_.net.nodes[node].owner = static_cast<std::uint32_t>(rank);
  const ProcessCapture& process = *graph_.nodes[node].process;
  thread = thread == nullptr ? deciding_thread(view_, process) : thread;
  if (thread != nullptr && !thread->call) {
    add_holders(node, rank, process, *thread);
  }
  if (thread != nullptr && is_coroutine(*thread) && thread->wait.on != snapshot::WaitOn::kSocket &&
      graph_.net.out[node].empty()) {
    show(node, rank,
         {"what its process is to do", "no thread of it has the event loop at hand",
          HowKnown::kExclusion},
         true);
    graph_.awaited[rank] = true;
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
  if (graph_.nodes[node].process == nullptr) {
    return false;
  }
  const std::size_t owner = graph_.net.nodes[node].owner;
  return owner != rank && owner == view_.index_of_owner(*graph_.nodes[node].process);
}

void GraphBuilder::settle_owners() {
  for (const auto& [rank, node] : reached_) {
    if (view_.index_of_owner(*graph_.nodes[node].process) == rank) {
      graph_.net.nodes[node].owner = static_cast<std::uint32_t>(rank);
    }
  }
  for (const auto& [rank, node] : reached_) {
    const std::size_t owner = graph_.net.nodes[node].owner;
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
      const bool is_full = to >= view_.ranks().size() && graph_.net.out[to].empty() &&
                           !is_below_host(graph_.nodes[to].kind) && !is_of_another(to, rank);
      if (!own && !is_full) {
        return true;
      }
      if (own && graph_.nodes[to].kind != NodeKind::kChoice && seen.insert(to).second) {
        todo.push_back(to);
      }
    }
  }
  return false;
}

std::string GraphBuilder::wait_evidence(const ProcessCapture& process,
                                        const ThreadCapture& thread) const {
  constexpr std::size_t kMaxDetail = 300;
  const std::string detail = cut_end(printable(wait_detail(view_, process, thread)), kMaxDetail);
  return detail.empty() ? system_call_words(view_, thread, true) : detail;
}

}  // namespace oddrank::aggregate
