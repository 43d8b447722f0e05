// Every rank was read and moved between the samples. For ranks outside of calls, computing counts
// as moving; at least one rank must have changed place, or counted on around its collective, or no
// rank may be in a call.
#include <algorithm>

#include <fmt/format.h>

#include "aggregate/blame/local_story.h"
#include "aggregate/evidence/server_waits.h"
#include "aggregate/flight/flight_words.h"
#include "aggregate/rules/all_rules.h"
#include "aggregate/view/decider.h"
#include "aggregate/view/remote_calls.h"
#include "aggregate/view/without_work.h"
#include "aggregate/words/wait_words.h"
#include "base/printable.h"

namespace oddrank::aggregate {

namespace {

bool waits_for_long(const snapshot::ThreadCapture* thread) {
  return thread->call && thread->wait.quiet_ms >= snapshot::kOldWaitMs;
}

// Returns whether the rank moves only by calls of other threads, while the deciding thread has
// stood at a lock or event for long: it may not wait for those threads.
bool stands_beside_calls(const RankView& rank) {
  const snapshot::Wait& wait = rank.decider->wait;
  return !rank.decider->call && !rank.motion.stack && wait.on == snapshot::WaitOn::kLock &&
         wait.quiet_ms >= snapshot::kOldWaitMs;
}

// Returns whether a local of the program changed, or the other sides of its transfers, while the
// rank was seen in calls at one place: a tight loop. Loops that wait for a store count their tries,
// too; these do not count.
bool counts_on(const RankView& rank) {
  return rank.motion.locals && rank.decider->call && !rank.polls &&
         rank.decider->call->kind != snapshot::CallKind::kRendezvous;
}

// Returns whether nothing but its variables shows that the rank moves: they may count tries that
// lead nowhere.
bool moves_by_variables(const RankView& rank) {
  const Motion& motion = rank.motion;
  return rank.decider != nullptr && !rank.decider->call && motion.locals && !motion.stack &&
         !motion.calls && !motion.cpu;
}

// Returns the ranks with a thread beside the decider that has waited in a call for long. It may be
// idle, for instance in a broadcast that brings orders; or it hangs, and its rank will hang when it
// needs the thread.
std::vector<std::size_t> waiting_beside(const JobView& view) {
  return view.ranks_that([&view](std::size_t at) {
    return std::ranges::any_of(view.rank(at).beside, waits_for_long);
  });
}

// Returns "threads of ranks 0-3 have waited for more than 5 s in barrier in default group".
std::string beside_words(const RuleInput& input, const std::vector<std::size_t>& waiting) {
  const auto& beside = input.rank(waiting.front()).beside;
  const auto first = std::ranges::find_if(beside, waits_for_long);
  return fmt::format("{} of {} {} waited for more than {} s in {}",
                     waiting.size() == 1 ? "another thread" : "other threads",
                     ranks_words(input, waiting), waiting.size() == 1 ? "has" : "have",
                     snapshot::kOldWaitMs / 1000, call_words(input.view, *(*first)->call));
}

// Returns whether it polls for something from outside, like an evaluation for checkpoints, or a
// spare rank for a key that starts its work.
bool asks(const JobView& view, const RankView& rank) {
  const auto polls = [&rank](snapshot::PollOn on) { return rank.polls == on; };
  return rank.motion.still() && !takes_turns(view, rank) &&
         (polls(snapshot::PollOn::kUnknown) || polls(snapshot::PollOn::kFile) ||
          polls(snapshot::PollOn::kConnection) || waits_for_key(view, rank));
}

// Returns whether the rank waits in a call in which one of these gives work to the others.
bool takes_work_from(const RuleInput& input,
                     std::size_t at,
                     const std::vector<std::size_t>& servers) {
  return std::ranges::any_of(input.graph.slots, [&](const Slot& slot) {
    const std::size_t root = slot.root < 0 ? JobView::kNone : input.view.index_of(slot.root);
    return std::ranges::binary_search(servers, root) &&
           std::ranges::find(slot.inside, at) != slot.inside.end();
  });
}

// Returns whether the process waits for its input, which comes from outside of the job, for a time
// that its program has set, or for other processes to end.
bool is_woken_from_outside(const JobView& view, const RankView& rank) {
  const bool reads = rank.decider != nullptr && rank.motion.still() && rank.state() == 'S' &&
                     !is_writing(view, rank.decider->wait) &&
                     (waits_at_terminal(view, rank) || has_end_outside(view, rank));
  return (reads || sleeps_for_set_time(view, rank) || waits_for_ends(rank)) &&
         does_nothing_beside(view, rank);
}

// Returns whether it is a framework's own process: it counts only if a wait leads to it.
bool is_service(const RankView& rank) {
  return rank.process != nullptr && rank.process->role == snapshot::JobRole::kService;
}

// Returns which ranks are awaited by one that wants something of them: not just work for a loop
// that runs functions for others, or their end. An event loop may wait for an answer.
std::vector<bool> find_claimed(const RuleInput& input, const std::vector<bool>& without_work) {
  const auto& ranks = input.view.ranks();
  std::vector<bool> wants_nothing;
  for (std::size_t at = 0; at < ranks.size(); ++at) {
    const bool serves = without_work[at] && waits_to_serve(input.view.model(), *ranks[at].decider);
    wants_nothing.push_back(serves || waits_for_ends(ranks[at]));
  }
  std::vector<bool> wanted = input.graph.awaited;
  std::vector<bool> is_known(ranks.size());
  for (const GraphEdge& edge : input.graph.edges) {
    const std::size_t owner = input.graph.net.nodes[edge.from].owner;
    if (edge.to >= ranks.size() || owner == edge.to || edge.how == HowKnown::kText) {
      continue;
    }
    const bool wants = owner >= ranks.size() || !wants_nothing[owner];
    wanted[edge.to] = wants || (is_known[edge.to] && wanted[edge.to]);
    is_known[edge.to] = true;
  }
  return wanted;
}

// The processes that have nothing to do.
struct Idle {
  std::vector<std::size_t> ranks;
  std::vector<std::size_t> outside;  // what would give them work waits for something outside
  bool awaited = false;              // the others wait for them
};

// Finds the processes that wait or ask for work and that no other process waits for; also servers
// from which others want work, if that is known. None if one of the others does not move, or waits
// for what comes from outside.
Idle find_without_work(const RuleInput& input) {
  Idle idle;
  std::vector<std::size_t> standing;
  const auto& ranks = input.view.ranks();
  std::vector<bool> asking;
  std::vector<bool> without_work;
  for (const RankView& rank : ranks) {
    asking.push_back(asks(input.view, rank));
    without_work.push_back(has_no_work(input.view, rank));
  }
  const bool any_asks = std::ranges::count(asking, true) > 0;
  const std::vector<bool> wanted = find_claimed(input, without_work);
  for (std::size_t at = 0; at < ranks.size(); ++at) {
    const RankView& rank = ranks[at];
    if (rank.presence != Presence::kRead || !rank.motion.measured || !rank.servers.empty()) {
      return {};
    }
    const bool without = asking[at] || without_work[at] || is_service(rank);
    if ((without && !wanted[at]) || waits_for_listener(input.view, input.graph.slots, at)) {
      idle.ranks.push_back(at);
    } else if (!wanted[at] && is_woken_from_outside(input.view, rank)) {
      idle.outside.push_back(at);
    } else if (!any_asks && !wanted[at] && takes_turns(input.view, rank)) {
      continue;
    } else if (!rank.motion.moved() || (any_asks && !rank.motion.stack && !rank.motion.calls)) {
      standing.push_back(at);
    }
  }
  idle.awaited = !standing.empty();
  const bool explained = std::ranges::all_of(
      standing, [&](std::size_t at) { return takes_work_from(input, at, idle.ranks); });
  if (!idle.outside.empty() && (any_asks || idle.awaited)) {
    return {};
  }
  // What all of them ask for may hold them up.
  return !explained || (any_asks && idle.ranks.size() * 2 >= ranks.size()) ? Idle() : idle;
}

// Returns "waits for input from pid 71, which is outside of the job".
std::string outside_words(const JobView& view, const RankView& rank) {
  const WaitsFor wait = waits_for(view, rank);
  return waits_at_terminal(view, rank) ? "waits for somebody to type at " + wait.path
         : has_end_outside(view, rank)
             ? fmt::format("waits for input from pid {}, which is outside of the job",
                           rank.decider->wait.holder_pid)
         : waits_for_ends(rank) ? std::string("waits for other processes to end")
                                : std::string("sleeps for a time that its program has set");
}

std::string idle_words(const RuleInput& input, const Idle& idle) {
  const std::size_t all = input.view.ranks().size();
  const std::string who = idle.ranks.size() == all ? fmt::format("all {}", count_of(all, "process"))
                                                   : ranks_words(input, idle.ranks);
  const std::string_view end = idle.ranks.size() == 1 ? "s" : "";
  if (!idle.outside.empty()) {
    return fmt::format(
        "{}; {} wait{} for work{}",
        places(input, idle.outside,
               [&input](const RankView& rank) { return outside_words(input.view, rank); }),
        who, end,
        idle.ranks.size() + idle.outside.size() == all ? ": the job is idle"
                                                       : ", and the others move");
  }
  if (idle.awaited) {
    return fmt::format(
        "{} wait{} for requests, and the thread that listens for them has got none; "
        "the others wait for {}: the job is idle",
        who, end, idle.ranks.size() == 1 ? "it" : "them");
  }
  const RankView& first = input.rank(idle.ranks.front());
  const bool asking = asks(input.view, first);
  return fmt::format("{} {}{} for {}{}", who, asking && first.polls ? "ask" : "wait", end,
                     !asking       ? "work"
                     : first.polls ? "something, again and again"
                                   : "a key of the store",
                     idle.ranks.size() == all ? ": the job is idle" : ", and the others move");
}

// Finds that processes that serve others have no work.
std::vector<Finding> find_idle(const RuleInput& input) {
  const Idle idle = find_without_work(input);
  if (idle.ranks.empty()) {
    return {};
  }
  Finding finding;
  finding.kind = Kind::kHealthy;
  finding.confidence = idle.awaited ? Confidence::kPossible : Confidence::kLikely;
  finding.summary = idle_words(input, idle);
  finding.advice = {
      Advice("is a request under way? then run oddrank again: one that was lost looks "
             "the same",
             {}, true)};
  finding.disproves = {"a request that is under way meanwhile"};
  finding.weakness = idle.awaited ? "one of those that wait may be the one that has to connect"
                                  : "a request that was lost looks the same";
  return {finding};
}

// Finds, from recorders alone, that no rank is behind.
std::vector<Finding> find_even(const FlightFacts& facts) {
  if (!facts.job.has_calls() || !facts.waits.empty() || !behind_words(facts.job).empty()) {
    return {};
  }
  Finding finding;
  finding.kind = Kind::kHealthy;
  finding.confidence = Confidence::kPossible;
  finding.summary = flight_words(facts);
  finding.disproves = {"a hang outside of what the recorder sees"};
  return {finding};
}

// Returns that all ranks moved, and what weakens it. `most_changed`: the stacks of most ranks did.
// `any_gets_on`: a rank is known to make progress, though it waits.
Finding moving_finding(const RuleInput& input, bool most_changed, bool any_gets_on) {
  const auto& ranks = input.view.ranks();
  Finding finding;
  finding.kind = Kind::kHealthy;
  finding.confidence = most_changed ? Confidence::kCertain : Confidence::kLikely;
  finding.summary = fmt::format("all {} moved between the samples: nothing hangs",
                                count_of(ranks.size(), input.view.unit()));
  if (!any_gets_on && std::ranges::all_of(ranks, moves_by_variables)) {
    finding.confidence = Confidence::kPossible;
    finding.summary = fmt::format(
        "all {} moved between the samples: their variables changed, at places that did not",
        count_of(ranks.size(), input.view.unit()));
  }
  if (const auto waiting = waiting_beside(input.view); !waiting.empty()) {
    finding.confidence = Confidence::kLikely;
    finding.summary =
        fmt::format("all {} moved between the samples, but {}",
                    count_of(ranks.size(), input.view.unit()), beside_words(input, waiting));
  }
  if (std::ranges::all_of(ranks, stands_beside_calls)) {
    finding.confidence = Confidence::kPossible;
    finding.summary = fmt::format(
        "other threads of all {} make calls, but the main threads have waited for more than {} s{}",
        count_of(ranks.size(), input.view.unit()), snapshot::kOldWaitMs / 1000,
        input.view.model().user_place(ranks.front().sample(), " in "));
    finding.weakness = "these calls may not be what the main threads wait for";
  }
  finding.advice = {
      Advice("run oddrank again with --samples 3 --interval 10s if the job is slow", {}, true)};
  finding.disproves = {"the same stacks on all ranks some minutes later"};
  finding.weakness = "not all ranks were seen to move";
  return finding;
}

}  // namespace

std::vector<Finding> healthy(const RuleInput& input) {
  if (input.view.only_recorded()) {
    return find_even(*input.view.flight());
  }
  const auto& ranks = input.view.ranks();
  bool all_move = true;
  bool launches = false;
  bool any_gets_on = false;
  for (std::size_t at = 0; at < ranks.size(); ++at) {
    launches = launches || waits_for_launchers(input.view, ranks[at]);
    if (!all_move) {
      continue;  // what the others do changes nothing
    }
    // A thread that the deciding one waits for may get on.
    const bool gets_on =
        local_story(input, at) == Kind::kSlow ||
        (!input.graph.awaited[at] && (is_service(ranks[at]) || takes_turns(input.view, ranks[at])));
    any_gets_on = any_gets_on || gets_on;
    all_move = ranks[at].presence == Presence::kRead && (ranks[at].motion.moved() || gets_on);
  }
  if (ranks.empty() || launches) {
    return {};
  }
  if (!all_move) {
    return find_idle(input);
  }
  const auto changed = static_cast<std::size_t>(
      std::ranges::count_if(ranks, [](const RankView& rank) { return rank.motion.stack; }));
  if (changed == 0 && input.anybody_in_call && std::ranges::none_of(ranks, counts_on)) {
    return {};  // waking up and spinning is not yet progress
  }
  return {moving_finding(input, changed * 2 > ranks.size(), any_gets_on)};
}

}  // namespace oddrank::aggregate
