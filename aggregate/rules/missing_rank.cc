// A rank that should be there and is not: dead and not yet reaped, or without a process on a node
// that was read. A node that did not answer is no evidence.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "aggregate/blame/local_story.h"
#include "aggregate/blame/suspects.h"
#include "aggregate/flight/flight_words.h"
#include "aggregate/rules/all_rules.h"
#include "aggregate/rules/rank_past.h"
#include "aggregate/words/wait_words.h"
#include "base/printable.h"
#include "base/shell_words.h"

namespace oddrank::aggregate {
namespace {

// Returns whether all ranks that wait are still initialising: then `rendezvous` handles a rank that
// was never seen.
bool only_initialises(const RuleInput& input) {
  const auto& slots = input.graph.slots;
  return !slots.empty() && std::ranges::all_of(slots, [](const Slot& slot) {
    return slot.kind == snapshot::CallKind::kRendezvous;
  });
}

bool are_most(const RuleInput& input, const std::vector<std::size_t>& gone) {
  return gone.size() * 2 > input.view.ranks().size();
}

// Recognises the work of a watchdog: it has ended the waiting ranks, and the rank that they waited
// for is left. Most of the job is gone, and a survivor, in no call, has its own story. Then the
// dead ranks are victims.
bool looks_like_watchdog(const RuleInput& input, const std::vector<std::size_t>& gone) {
  if (!are_most(input, gone)) {
    return false;
  }
  const auto may_be_cause = [&input](std::size_t at) {
    const RankView& rank = input.rank(at);
    const Kind story = local_story(input, at);
    return rank.presence == Presence::kRead && rank.decider != nullptr && !rank.decider->call &&
           story != Kind::kSkippedCollective && story != Kind::kUnknown;
  };
  return !input.view.ranks_that(may_be_cause).empty();
}

bool any_is_awaited(const RuleInput& input, const std::vector<std::size_t>& gone) {
  return std::ranges::any_of(gone, [&input](std::size_t at) { return input.graph.awaited[at]; });
}

// Returns how many of the remaining ranks wait for no rank.
std::size_t roots_left(const RuleInput& input) {
  const auto is_root = [&input](std::size_t at) {
    const BlockedOn on = input.blame.blocked[at];
    return input.rank(at).presence == Presence::kRead &&
           (on == BlockedOn::kNoRank || on == BlockedOn::kClock);
  };
  return input.view.ranks_that(is_root).size();
}

// Returns whether the ranks that are gone merely have no process, without the launcher's word or an
// exit status.
bool are_only_absent(const RuleInput& input, const std::vector<std::size_t>& gone) {
  return std::ranges::all_of(gone, [&input](std::size_t at) {
    const RankView& rank = input.rank(at);
    return rank.presence == Presence::kAbsent && !rank.launched;
  });
}

// Returns whether the ranks that are gone may hold none up: no rank waits for them, and they are
// most of the job, or the remaining ones may wait for a remaining one. The job may be over for
// those that are gone; or they have failed because a remaining rank did not come in time.
bool may_be_consequence(const RuleInput& input, const std::vector<std::size_t>& gone) {
  return !any_is_awaited(input, gone) &&
         (are_most(input, gone) || (are_only_absent(input, gone) && roots_left(input) > 0));
}

// Returns whether the job looks over except for a few ranks: none of these waits for another one,
// so the ranks that are gone hold none up.
bool looks_over(const RuleInput& input, const std::vector<std::size_t>& gone) {
  return are_most(input, gone) && are_only_absent(input, gone) && !any_is_awaited(input, gone) &&
         roots_left(input) + gone.size() == input.view.ranks().size();
}

Confidence confidence_of(const RuleInput& input, const std::vector<std::size_t>& ranks) {
  if (input.all_move || may_be_consequence(input, ranks)) {
    return Confidence::kPossible;
  }
  const bool certain = std::ranges::all_of(ranks, [&input](std::size_t at) {
    const RankView& rank = input.rank(at);
    return input.graph.awaited[at] && (rank.presence == Presence::kDead || rank.launched) &&
           !input.is_assumed(at);
  });
  return certain && !input.unread ? Confidence::kCertain : Confidence::kLikely;
}

// Returns a process that the rank has started and that outlives it; null if none is known.
const snapshot::ProcessCapture* child_left_by(const JobView& view, const RankView& rank) {
  const auto& processes = view.capture().processes;
  const auto at = std::ranges::find_if(processes, [&rank](const auto& process) {
    return process.outlives_rank && process.rank == rank.rank && rank.rank >= 0;
  });
  return at == processes.end() ? nullptr : &*at;
}

std::string absence_predicate(const JobView& view, const RankPast& past, const RankView& rank) {
  if (rank.presence == Presence::kDead) {
    const std::string how = exit_words(rank.process->exit_code);
    return fmt::format("is dead (zombie{}{})", how.empty() ? "" : ", ", how);
  }
  if (const auto* left = child_left_by(view, rank); left != nullptr) {
    return fmt::format("is gone; pid {}, which it started, lives on", left->pid);
  }
  if (std::string ended = past.ended_by_step(rank); !ended.empty()) {
    return ended;
  }
  if (std::string ended = past.ended_by_srun(rank); !ended.empty()) {
    return ended;
  }
  if (past.was_there(rank)) {
    return "has ended: it had come to the default group, and has no process any more";
  }
  return rank.host.empty() ? "has no process on any node of the job" : "is gone: no such process";
}

std::vector<Advice> absence_advice(const RuleInput& input, const RankView& rank) {
  const std::string output = printable(input.view.capture().job.output_path);
  std::vector<Advice> advice;
  advice.push_back(output.empty() ? fmt::format("look for the last lines of {} in the job's output",
                                                JobView::short_name(rank))
                                  : fmt::format("grep -n -i -E 'error|killed|signal' {} | tail",
                                                shell_quoted(output)));
  advice.push_back(on(rank, "dmesg -T | grep -i -E 'killed process|oom' | tail"));
  if (!input.view.capture().job.id.empty()) {
    advice.emplace_back("start with srun --kill-on-bad-exit=1, so that a dead rank ends the job");
  }
  return advice;
}

// If no process of the job was found, the search is at fault as likely as the ranks are.
bool nothing_seen(const JobView& view) {
  return std::ranges::none_of(view.ranks(),
                              [](const RankView& rank) { return rank.process != nullptr; });
}

}  // namespace

// If only recorders are known and no other rank is the cause: a rank is left if it is the only one
// without a dump among the members of calls that all others have made.
std::vector<Finding> missing_dump(const RuleInput& input) {
  std::set<std::size_t> unseen;
  std::string words;
  const bool decided = !input.tiers.front().ranks.empty() || !input.blame.circles.empty();
  if (decided || !input.view.only_recorded()) {
    return {};
  }
  for (const FlightWait& wait : input.view.flight()->waits) {
    for (const std::int32_t rank : wait.unknown) {
      const std::size_t at = input.view.index_of(rank);
      if (wait.absent.empty() && input.rank(at).presence == Presence::kUnread) {
        unseen.insert(at);
        words = words.empty() ? wait_words(*input.view.flight(), wait) : words;
      }
    }
  }
  if (unseen.size() != 1) {
    return {};
  }
  Finding finding = accuse(input, Kind::kMissingRank, {*unseen.begin()}, Evidence::kState);
  finding.confidence = Confidence::kPossible;
  finding.summary = words + ": it gave no dump";
  finding.advice = {"look for the missing dump, or for what became of that rank"};
  finding.disproves = {"a dump of that rank with the same call"};
  return {finding};
}

std::vector<Finding> missing_rank(const RuleInput& input) {
  if (nothing_seen(input.view)) {
    return {};
  }
  const RankPast past(input.view);
  std::vector<std::size_t> gone;
  const bool initialises = only_initialises(input);
  bool dead = false;
  for (const std::size_t at : input.with_story) {
    const RankView& rank = input.rank(at);
    if (rank.presence == Presence::kDead || rank.launched || !initialises || past.was_there(rank)) {
      gone.push_back(at);
      dead = dead || rank.presence == Presence::kDead;
    }
  }
  const bool are_victims = looks_like_watchdog(input, gone);
  if (gone.empty() || (looks_over(input, gone) && !are_victims)) {
    return {};
  }
  Finding finding = accuse(input, Kind::kMissingRank, gone, Evidence::kState);
  finding.confidence = are_victims ? Confidence::kPossible : confidence_of(input, gone);
  if (are_victims) {
    finding.basis = Basis::kNobody;  // a consequence explains nothing
  }
  const auto first = gone.front();
  finding.summary = sentence(
      input, gone, [&](const RankView& rank) { return absence_predicate(input.view, past, rank); });
  for (Culprit& culprit : finding.culprits) {
    culprit.waits_for = {};
    culprit.waits_for.what =
        dead && culprit.pid != 0 ? snapshot::WaitOn::kNothing : snapshot::WaitOn::kUnknown;
    culprit.waits_for.detail = culprit.pid != 0 ? "dead" : "no process";
  }
  finding.advice = absence_advice(input, input.rank(first));
  finding.disproves = {"a live process of this rank, in a container or on a node not looked at"};
  if (are_victims) {
    finding.weakness =
        "most ranks are gone and one that waits is left: a watchdog may have ended those that "
        "waited for it";
  } else {
    finding.weakness = input.all_move ? "the job moves without it" : "it may have ended in order";
  }
  return {finding};
}

}  // namespace oddrank::aggregate
