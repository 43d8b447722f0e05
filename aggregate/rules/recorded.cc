// What the ranks' flight recorders show (docs/flight-recorder.md): which ranks have not called what
// the others wait in, or have called it differently. Stacks do not show sizes and numbers. On the
// other hand, a recorder knows nothing about what a rank does outside of collectives, and its dump
// may be old. So only dumps of this very hang count, for `likely` at most, and for `possible` at
// most if the rank's own stack tells another story. Calls that were read from memory beside the
// stacks are not of another time: where they differ, and the ranks stood still, that is `certain`.
#include <algorithm>

#include <fmt/format.h>

#include "aggregate/blame/suspects.h"
#include "aggregate/flight/flight_capture.h"
#include "aggregate/flight/flight_history.h"
#include "aggregate/rules/all_rules.h"
#include "aggregate/rules/local_story.h"
#include "aggregate/sources/ras_job.h"
#include "aggregate/view/remote_calls.h"
#include "aggregate/words/wait_words.h"

namespace oddrank::aggregate {

using snapshot::CallKind;

namespace {

bool is_told(Kind kind) {
  return row_of(kind).also == recorded;
}

// Returns whether the rank's own stack explains more than that a call is missing.
bool has_own_story(const RuleInput& input, std::size_t at) {
  const Kind story = local_story(input, at);
  return story != Kind::kSkippedCollective && story != Kind::kUnknown;
}

// Returns whether the rank waits for something that another rank may have to give first: an answer,
// a message, a key. Whose that is, the recorder does not know either. That the others wait for this
// rank in a collective may be the very reason why it does not come.
bool asks_somebody(const RuleInput& input, std::size_t at, Stand stand) {
  const RankView& rank = input.view.ranks()[at];
  if (rank.leader == nullptr) {
    return false;
  }
  const auto& call = rank.leader->call;
  return calls_remotely(input.view.model(), *rank.leader) ||
         (call && (call->kind == CallKind::kSend || call->kind == CallKind::kRecv)) ||
         ((stand == Stand::kVague) && may_need_others(input.view, rank));
}

// Returns whether the recorders' finding may name these ranks (rules/suspects.h): what a rank has
// not called says no more than its absence does. If the stacks show whom the others wait for, only
// these may be named; else no rank that waits for another one, except in a circle.
bool may_be_named(const RuleInput& input, Kind kind, const std::vector<std::size_t>& ranks) {
  if (kind == Kind::kMismatchedCollective) {
    return true;  // that is in the calls themselves, whoever waits for whom
  }
  const Suspects& first = input.tiers.front();
  const bool told = first.ground == Ground::kRoot || first.ground == Ground::kVague;
  return std::all_of(ranks.begin(), ranks.end(), [&](std::size_t at) {
    const Stand stand = input.blame.stands[at];
    if (kind == Kind::kCollectiveOrder) {
      return !told && (stand == Stand::kWaits || stand == Stand::kInCall);
    }
    if (asks_somebody(input, at, stand)) {
      return false;
    }
    const bool suspected = std::binary_search(first.ranks.begin(), first.ranks.end(), at);
    return told ? suspected
                : stand != Stand::kWaits && (stand != Stand::kVague || ranks.size() == 1);
  });
}

bool waits_in_call(const RankView& rank) {
  return rank.leader != nullptr && rank.motion.still() &&
         (rank.leader->call || rank.leader->wait.on == snapshot::WaitOn::kDevice);
}

// Returns whether a rule about the rank's own stack names it. Its count of launches adds nothing
// then.
bool is_found_by_stack(const RuleInput& input, std::size_t at) {
  return has_own_story(input, at) &&
         std::any_of(input.tiers.begin(), input.tiers.end(), [at](const Suspects& tier) {
           return std::binary_search(tier.ranks.begin(), tier.ranks.end(), at);
         });
}

// Returns whether the stacks agree with the counts: all members that have launched more wait, in a
// call or for what their device does, and the ranks that have launched less do not.
bool others_wait(const JobView& view, const RasCommunicatorView& told) {
  for (std::size_t i = 0; i < told.members.size(); ++i) {
    const std::size_t at = view.index_of(told.members[i].rank);
    const bool is_behind =
        std::find(told.behind.begin(), told.behind.end(), i) != told.behind.end();
    if (at == JobView::kNone || waits_in_call(view.ranks()[at]) == is_behind) {
      return false;
    }
  }
  return true;
}

std::vector<Finding> from_ras(const RuleInput& input) {
  const auto communicators = view_ras(input.view);
  Finding finding;
  finding.kind = Kind::kSkippedCollective;
  finding.confidence = Confidence::kPossible;
  std::vector<std::size_t> named;
  for (const std::int32_t number : behind_by_ras(communicators)) {
    const std::size_t at = input.view.index_of(number);
    if (at == JobView::kNone) {
      return {};
    }
    const RankView& rank = input.view.ranks()[at];
    if (rank.presence != Presence::kRead || rank.motion.stack || is_found_by_stack(input, at)) {
      return {};
    }
    named.push_back(at);
    finding.culprits.push_back(culprit_of(input.view, rank));
  }
  const auto told =
      std::find_if(communicators.begin(), communicators.end(),
                   [](const RasCommunicatorView& one) { return one.counts_differ(); });
  if (finding.culprits.empty() || told == communicators.end()) {
    return {};
  }
  finding.summary = "by " + ras_source(communicators) + ", " + ras_words(*told);
  finding.advice = {"ask again a minute later: counts that still stand are no delay"};
  finding.disproves = {"the counts becoming equal later: then it was only late"};
  finding.weakness = "these counts are launches by the host, of five operations";
  if (others_wait(input.view, *told) && may_be_named(input, finding.kind, named)) {
    finding.confidence = Confidence::kLikely;
  }
  return {finding};
}

// Returns the culprits of the recorders' finding; of a circle, those who left their own pattern or
// that of most ranks, if there are such; on a tie of two calls, those who left their own.
std::vector<Culprit> recorded_culprits(const FlightReport& flight) {
  std::vector<Culprit> culprits = flight.verdict.culprits;
  const bool circle_of_groups = flight.verdict.kind == Kind::kCollectiveOrder;
  const bool tie = flight.verdict.kind == Kind::kMismatchedCollective &&
                   !flight.mismatches.empty() && flight.mismatches.front().tie;
  if (!circle_of_groups && !tie) {
    return culprits;
  }
  const std::vector<std::int32_t> circle = numbers_of(culprits);
  std::vector<std::int32_t> odd = left_own_pattern(flight.job, circle);
  if (odd.empty() && circle_of_groups) {
    odd = apart_from_most(flight.job, circle);
  }
  if (!odd.empty()) {
    std::erase_if(culprits, [&odd](const Culprit& one) {
      return std::find(odd.begin(), odd.end(), one.rank) == odd.end();
    });
  }
  return culprits;
}

std::vector<Finding> from_recorders(const RuleInput& input) {
  if (input.flight == nullptr || !is_told(input.flight->verdict.kind)) {
    return {};
  }
  const Verdict& told = input.flight->verdict;
  const auto contradicted = contradicted_by_stacks(*input.flight, input.view);
  const bool mismatch = told.kind == Kind::kMismatchedCollective;
  Finding finding;
  finding.kind = told.kind;
  const bool of_cores = input.view.capture().job.source == snapshot::JobSource::kCore;
  const bool from_memory = is_from_memory(*input.flight);
  const bool beside_stacks = mismatch && from_memory && !input.unread;
  finding.confidence =
      std::min(told.confidence, beside_stacks ? Confidence::kCertain : Confidence::kLikely);
  std::vector<std::size_t> named;
  for (const Culprit& culprit : recorded_culprits(*input.flight)) {
    const std::size_t at = input.view.index_of(culprit.rank);
    const bool denied = std::binary_search(contradicted.begin(), contradicted.end(), culprit.rank);
    if (at == JobView::kNone || (denied && !mismatch)) {
      return {};
    }
    named.push_back(at);
    const RankView& rank = input.view.ranks()[at];
    if (finding.confidence == Confidence::kCertain && !of_cores && !rank.motion.still()) {
      finding.confidence = Confidence::kLikely;
    }
    const bool own_story = !mismatch && has_own_story(input, at);
    if (own_story && from_memory) {
      return {};  // that explains more than the call that is missing
    }
    if (own_story || (!mismatch && rank.presence != Presence::kRead)) {
      finding.confidence = Confidence::kPossible;
    }
    finding.culprits.push_back(culprit_of(input.view, rank));
  }
  if (named.empty() || !is_current(*input.flight, input.view) ||
      !may_be_named(input, told.kind, named)) {
    return {};
  }
  finding.explains = waiters_of(input.graph, named.front()).size();
  finding.summary =
      (from_memory ? "by the recorded calls, " : "by the flight recorders ") + told.summary;
  finding.history = histories_of(input.flight->job, numbers_of(finding.culprits));
  finding.chain = told.chain;
  finding.advice = told.advice;
  finding.disproves = told.disproves;
  finding.weakness = "a recorder does not know what a rank does outside of collectives";
  return {finding};
}

}  // namespace

std::vector<Finding> recorded(const RuleInput& input) {
  std::vector<Finding> findings = from_recorders(input);
  for (Finding& finding : from_ras(input)) {
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace oddrank::aggregate
