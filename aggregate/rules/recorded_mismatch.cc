// What only the ranks' flight recorders show (docs/flight-recorder.md): that they have called
// different things at one number. Stacks do not show sizes and numbers. A dump may be old: only one
// of this very hang counts, for `likely` at most. Calls that were read from memory beside the
// stacks are not of another time: where they differ, and the ranks stood still, that is `certain`.
//
// That a rank has not made a call is no finding here: it is one of the facts of the wait graph
// (evidence/slots.h).
#include <algorithm>

#include "aggregate/flight/flight_capture.h"
#include "aggregate/flight/flight_history.h"
#include "aggregate/rules/all_rules.h"
#include "aggregate/rules/left_pattern.h"

namespace oddrank::aggregate {
namespace {

// Returns those who called something else; on a tie those who left their own pattern, if there are
// such.
std::vector<std::size_t> deviating_ranks(const RuleInput& input) {
  std::vector<std::size_t> ranks;
  for (const std::int32_t number : numbers_of(input.flight->verdict.culprits)) {
    const std::size_t at = input.view.index_of(number);
    if (at == JobView::kNone) {
      return {};
    }
    ranks.push_back(at);
  }
  if (input.flight->mismatches.front().tie) {
    std::vector<std::size_t> deviating = left_their_pattern(input, ranks);
    ranks = deviating.empty() ? ranks : deviating;
  }
  return ranks;
}

}  // namespace

std::vector<Finding> recorded_mismatch(const RuleInput& input) {
  if (input.flight == nullptr || input.flight->mismatches.empty() ||
      !is_current(*input.flight, input.view)) {
    return {};
  }
  const std::vector<std::size_t> ranks = deviating_ranks(input);
  if (ranks.empty()) {
    return {};
  }
  const Verdict& told = input.flight->verdict;
  const bool from_memory = is_from_memory(*input.flight);
  const bool of_cores = input.view.capture().job.source == snapshot::JobSource::kCore;
  Finding finding;
  finding.kind = told.kind;
  finding.confidence = told.confidence;
  for (const std::size_t at : ranks) {
    const RankView& rank = input.rank(at);
    if (!from_memory || input.unread || (!of_cores && !rank.motion.still())) {
      finding.at_most(Confidence::kLikely);
    }
    finding.culprits.push_back(culprit_of(input.view, rank));
  }
  finding.explains = waiters_of(input.graph, ranks.front()).size();
  finding.summary =
      (from_memory ? "by the recorded calls, " : "by the flight recorders ") + told.summary;
  finding.history = histories_of(input.flight->job, numbers_of(finding.culprits));
  finding.advice = told.advice;
  finding.disproves = told.disproves;
  finding.weakness = "a recorder does not know what a rank does outside of collectives";
  return {finding};
}

}  // namespace oddrank::aggregate
