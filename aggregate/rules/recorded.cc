// What the ranks' flight recorders show (docs/flight-recorder.md): which ranks have not called what
// the others wait in, or have called it differently. Stacks do not show sizes and numbers. On the
// other hand, a recorder knows nothing about what a rank does outside of collectives, and its dump
// may be old. So only dumps of this very hang count, for `likely` at most, and for `possible` at
// most if the rank's own stack tells another story.
#include <algorithm>

#include <fmt/format.h>

#include "aggregate/flight/flight_capture.h"
#include "aggregate/rules/all_rules.h"
#include "aggregate/rules/local_story.h"
#include "aggregate/sources/ras_job.h"
#include "aggregate/view/wait_words.h"

namespace oddrank::aggregate {
namespace {

bool is_told(Kind kind) {
  return row_of(kind).also == recorded;
}

// Returns whether the rank's own stack explains more than that a call is missing.
bool has_own_story(const RuleInput& input, std::size_t at) {
  const Kind story = local_story(input, at);
  return story != Kind::kSkippedCollective && story != Kind::kUnknown;
}

std::vector<Finding> from_ras(const RuleInput& input) {
  const auto communicators = view_ras(input.view);
  Finding finding;
  finding.kind = Kind::kSkippedCollective;
  finding.confidence = Confidence::kPossible;
  for (const std::int32_t number : behind_by_ras(communicators)) {
    const std::size_t at = input.view.index_of(number);
    if (at == JobView::kNone) {
      return {};
    }
    const RankView& rank = input.view.ranks()[at];
    if (rank.presence != Presence::kRead || rank.motion.stack) {
      return {};
    }
    finding.culprits.push_back({rank.rank, rank.host, rank.pid(),
                                rank.leader == nullptr ? 0 : rank.leader->tid,
                                waits_for(input.view, rank)});
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
  return {finding};
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
  finding.confidence = std::min(told.confidence, Confidence::kLikely);
  for (const Culprit& culprit : told.culprits) {
    const std::size_t at = input.view.index_of(culprit.rank);
    const bool denied = std::binary_search(contradicted.begin(), contradicted.end(), culprit.rank);
    if (at == JobView::kNone || (denied && !mismatch)) {
      return {};
    }
    const RankView& rank = input.view.ranks()[at];
    if (!mismatch && (rank.presence != Presence::kRead || has_own_story(input, at))) {
      finding.confidence = Confidence::kPossible;
    }
    finding.culprits.push_back({rank.rank, rank.host, rank.pid(),
                                rank.leader == nullptr ? 0 : rank.leader->tid,
                                waits_for(input.view, rank)});
  }
  if (!finding.culprits.empty()) {
    const std::size_t first = input.view.index_of(finding.culprits.front().rank);
    finding.explains = waiters_of(input.graph, first).size();
  }
  if (finding.culprits.empty() || !is_current(*input.flight, input.view)) {
    return {};
  }
  finding.summary = "by the flight recorders " + told.summary;
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
