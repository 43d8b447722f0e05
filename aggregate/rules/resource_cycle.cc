// Ranks wait for each other in a circle of different things: a file lock against a barrier, a
// server's answer against an all_reduce, a pipe against a receive. Every member is named: each is
// right by itself, and any of them could end it.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "aggregate/rules/all_rules.h"
#include "aggregate/rules/left_pattern.h"
#include "aggregate/view/remote_calls.h"
#include "aggregate/words/wait_words.h"
#include "base/printable.h"

namespace oddrank::aggregate {
namespace {

// Returns whether a member waits otherwise than in a call, or some in collectives and some in sends
// or receives.
bool is_mixed(const RuleInput& input, const Circle& circle) {
  bool between_two = false;
  bool collective = false;
  for (const Slot* slot : circle.slots) {
    between_two = between_two || is_transfer(slot->kind);
    collective = collective || slot->kind == snapshot::CallKind::kCollective;
  }
  for (const std::size_t at : circle.ranks) {
    const RankView& rank = input.rank(at);
    if (rank.presence == Presence::kRecorded) {
      continue;
    }
    if (!takes_part(rank) || !circle.has_speaker(at)) {
      return true;
    }
    const snapshot::CallKind kind = rank.decider->call->kind;
    between_two =
        between_two || kind == snapshot::CallKind::kSend || kind == snapshot::CallKind::kRecv;
    collective = collective || kind == snapshot::CallKind::kCollective;
  }
  return between_two && collective;
}

// Returns whether ranks of the circle are in different calls at one number of a group: their orders
// of calls differ, which explains it (mismatched_collective).
bool has_mismatch(const Circle& circle) {
  std::set<std::pair<std::string_view, std::int64_t>> numbers;
  return std::ranges::any_of(circle.slots, [&numbers](const Slot* slot) {
    return slot->sequence >= 0 && slot->kind == snapshot::CallKind::kCollective &&
           !numbers.emplace(slot->group, slot->sequence).second;
  });
}

// Returns whether the circle is uncertain only because a member waits at an object that only one
// other thread of its process has.
bool is_by_exclusion(const WaitGraph& graph, const Circle& circle) {
  std::set<std::uint32_t> assumed;
  const bool alone = std::ranges::all_of(graph.edges, [&](const GraphEdge& edge) {
    return !edge.assumed || !std::ranges::binary_search(circle.nodes, edge.from) ||
           ((edge.how == HowKnown::kExclusion || edge.how == HowKnown::kFrames) &&
            graph.nodes[edge.from].kind == NodeKind::kThread && assumed.insert(edge.from).second);
  });
  return alone && !assumed.empty();
}

// Returns whether it is a closed circle of different things.
bool is_of_resources(const RuleInput& input, const Circle& circle) {
  return circle.closed && (circle.certain || is_by_exclusion(input.graph, circle)) &&
         is_mixed(input, circle) && !has_mismatch(circle) &&
         !left_out_transfer(input, circle.ranks);
}

// Returns "the file lock /x, held by rank 2".
std::string wait_of_child(const JobView& view, const snapshot::ProcessCapture& child) {
  const auto* thread = deciding_thread(view, child);
  const auto* other = awaited_process(view, child);
  const std::string holder = other == nullptr ? "another process" : process_words(view, *other);
  return thread != nullptr && thread->wait.on == snapshot::WaitOn::kFileLock
             ? fmt::format("the file lock {}, held by {}", printable(view.text(thread->wait.path)),
                           holder)
             : holder;
}

// Returns a thread of the rank that is in the circle and does not speak for the rank; null if the
// circle has no such thread.
const snapshot::ThreadCapture* thread_beside(const WaitGraph& graph,
                                             const Circle& circle,
                                             const RankView& rank) {
  for (const std::size_t at : circle.nodes) {
    if (graph.nodes[at].kind == NodeKind::kThread && graph.nodes[at].process == rank.process) {
      return graph.nodes[at].thread;
    }
  }
  return nullptr;
}

// Returns what the thread that speaks for a member waits for: "in all_reduce in default group",
// "for the file lock /x, held by rank 2".
std::string wait_of_speaker(const RuleInput& input, std::size_t at) {
  const RankView& rank = input.rank(at);
  if (rank.presence == Presence::kRecorded) {
    return "in " + call_at_words(input, rank);
  }
  if (rank.decider != nullptr && rank.decider->call) {
    return "in " + call_words(input.view, *rank.decider->call);
  }
  if (rank.caller != nullptr && rank.caller == rank.decider) {
    return fmt::format("for {} to answer {}",
                       ranks_words(input, {rank.servers.begin(), rank.servers.end()}),
                       remote_call(input.view.model(), *rank.caller).value_or("a call"));
  }
  const auto* other = awaited_process(input.view, *rank.process);
  if (other != nullptr && !other->is_rank) {
    const RankView* owner = input.view.other_owner(*other, rank);
    return fmt::format("for {} {} pid {}{}, which waits for {}", owner == nullptr ? "its" : "the",
                       child_words(input.view, *other), other->pid,
                       owner == nullptr ? "" : fmt::format(" of rank {}", owner->rank),
                       wait_of_child(input.view, *other));
  }
  const WaitsFor wait = waits_for(input.view, rank);
  const std::string holder = other == nullptr ? "" : process_words(input.view, *other);
  if (wait.what == snapshot::WaitOn::kFileLock) {
    return fmt::format("for the file lock {}{}", wait.path,
                       holder.empty() ? "" : ", held by " + holder);
  }
  return fmt::format("at a {}{}", wait_name(wait.what), holder.empty() ? "" : " for " + holder);
}

// Returns the same, and the wait of another thread of the member that is in the circle: "with its
// thread 71 (handler) at a lock".
std::string wait_of(const RuleInput& input, const Circle& circle, std::size_t at) {
  const RankView& rank = input.rank(at);
  std::string words = circle.has_speaker(at) ? wait_of_speaker(input, at) : std::string();
  if (const auto* thread = thread_beside(input.graph, circle, rank)) {
    const auto* awaited = input.view.awaited_by(*rank.process, *thread);
    words += fmt::format(
        "{}with its {} at a {}{}", words.empty() ? "" : ", and ", thread_words(input.view, *thread),
        wait_name(thread->wait.on),
        awaited == nullptr ? std::string() : " for " + process_words(input.view, *awaited));
  }
  return words;
}

bool are_all_in_calls(const RuleInput& input, const std::vector<std::size_t>& ranks) {
  return std::ranges::all_of(ranks,
                             [&input](std::size_t at) { return takes_part(input.rank(at)); });
}

// Returns whether one of these waits for the lock of a window that one of several ranks has: that
// one is on every way round, too, but it is not known which it is.
bool awaits_lock_of_several(const RuleInput& input, const std::vector<std::size_t>& ranks) {
  return std::ranges::any_of(ranks, [&input](std::size_t at) {
    const auto* const decider = input.rank(at).decider;
    return decider != nullptr && decider->call && decider->call->wants_window >= 0 &&
           peers_of(input.view, *decider->call).size() > 1;
  });
}

// The members to name: those that every way round leads through; else those that have left the
// common order of calls; else all, without words.
struct Named {
  Deviation who;
  bool left_call = false;  // they have gone another way than the others
};

Named named_of(const RuleInput& input, const Circle& circle) {
  const bool in_calls = are_all_in_calls(input, circle.ranks);
  auto cuts = on_every_way(input, circle);
  if (!cuts.ranks.empty() && !awaits_lock_of_several(input, cuts.ranks)) {
    // If the others wait only for one rank, which is in a call, it has gone another way.
    const bool one = cuts.ranks.size() == 1;
    return {std::move(cuts), one && in_calls};
  }
  if (auto left = in_calls ? left_common_order(input, circle.ranks) : Deviation();
      !left.ranks.empty()) {
    return {std::move(left), true};
  }
  return {{circle.ranks, {}}, false};
}

// Returns whether a wait of the circle is known by less than memory or the kernel.
bool is_inferred(const WaitGraph& graph, const Circle& circle) {
  const auto is_member = [&](std::size_t node) {
    return std::ranges::binary_search(circle.nodes, node);
  };
  return std::ranges::any_of(graph.edges, [&](const GraphEdge& edge) {
    return edge.how < HowKnown::kMemory && is_member(edge.from) && is_member(edge.to);
  });
}

}  // namespace

std::vector<Finding> resource_cycle(const RuleInput& input) {
  std::vector<Finding> findings;
  for (const Circle& whole : input.blame.circles) {
    if (!is_of_resources(input, whole)) {
      continue;
    }
    const std::vector<std::size_t>& circle = whole.ranks;
    const Named named = named_of(input, whole);
    Finding finding =
        accuse(input, named.left_call ? Kind::kSkippedCollective : Kind::kResourceCycle,
               named.who.ranks, Evidence::kOwnStall);
    finding.at_most(same_calls(input, circle));
    // If a member waits for one of several, all of these are in the circle.
    if (finding.confidence == Confidence::kNone || any_moved(input, circle) ||
        (named.who.how.empty() && waits_for_several(input, circle))) {
      continue;
    }
    if (!whole.certain) {
      finding.at_most(Confidence::kPossible);
    } else if (is_inferred(input.graph, whole)) {
      finding.at_most(Confidence::kLikely);
    }
    finding.summary =
        fmt::format("{} wait for each other in a circle: {}", ranks_words(input, circle),
                    sides_words(input, circle, {"waits ", "wait "},
                                [&](auto at) { return wait_of(input, whole, at); }));
    if (!named.who.how.empty()) {
      finding.at_most(Confidence::kLikely);
      finding.summary += named.who.how;
    }
    finding.advice = {named.left_call
                          ? "look for a branch or a loop of another length on this rank"
                          : "give back locks and answer requests before entering a collective"};
    finding.disproves = {"one of these waits ending"};
    finding.weakness = "one of these waits may be for somebody else";
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace oddrank::aggregate
