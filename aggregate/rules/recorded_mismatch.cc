// What only the ranks' flight recorders show (docs/flight-recorder.md): that they have called
// different things at one number. Stacks do not show sizes and numbers. A dump may be old: beside
// stacks, only one of this very hang counts, for `likely` at most. Calls that were read from memory
// beside the stacks are not of another time: where they differ, and the ranks stood still, that is
// `certain`.
//
// That a rank has not made a call is no finding here: it is one of the facts of the wait graph
// (evidence/slots.h).
#include <algorithm>

#include "aggregate/flight/flight_history.h"
#include "aggregate/flight/flight_words.h"
#include "aggregate/rules/all_rules.h"
#include "aggregate/rules/left_pattern.h"

namespace oddrank::aggregate {
namespace {

// Returns those who called something else; on a tie those who left their own pattern, if there are
// such.
std::vector<std::size_t> deviating_ranks(const RuleInput& input, const FlightMismatch& mismatch) {
  std::vector<std::size_t> ranks;
  for (const std::int32_t number : deviating_in(mismatch)) {
    const std::size_t at = input.view.index_of(number);
    if (at == JobView::kNone) {
      return {};
    }
    ranks.push_back(at);
  }
  if (mismatch.tie) {
    std::vector<std::size_t> deviating = left_their_pattern(input, ranks);
    ranks = deviating.empty() ? ranks : deviating;
  }
  return ranks;
}

Finding finding_of(const RuleInput& input,
                   const FlightMismatch& mismatch,
                   const std::vector<std::size_t>& ranks) {
  const FlightFacts& facts = *input.view.flight();
  const bool alone = input.view.only_recorded();
  const bool of_this_hang = alone || is_from_memory(facts);
  const bool of_cores = input.view.capture().job.source == snapshot::JobSource::kCore;
  Finding finding;
  finding.kind = mismatch.skipped ? Kind::kSkippedCollective : Kind::kMismatchedCollective;
  finding.confidence = mismatch.tie ? Confidence::kLikely : Confidence::kCertain;
  for (const std::size_t at : ranks) {
    const RankView& rank = input.rank(at);
    if (!of_this_hang || input.unread || (!of_cores && !alone && !rank.motion.still())) {
      finding.at_most(Confidence::kLikely);
    }
    finding.culprits.push_back(culprit_of(input.view, rank));
  }
  finding.explains = waiters_of(input.graph, ranks.front()).size();
  finding.summary = std::string(alone          ? ""
                                : of_this_hang ? "by the recorded calls, "
                                               : "by the flight recorders ") +
                    mismatch_words(facts.job, mismatch);
  finding.history = histories_of(facts.job, numbers_of(finding.culprits));
  finding.advice = {
      "compare the calls on both sides: a branch that only some ranks take, or tensors of other "
      "sizes"};
  finding.disproves = {"one call at this number on all ranks"};
  finding.weakness = "a recorder does not know what a rank does outside of collectives";
  return finding;
}

}  // namespace

std::vector<Finding> recorded_mismatch(const RuleInput& input) {
  const FlightFacts* facts = input.view.flight();
  if (facts == nullptr || facts->mismatches.empty() || !is_current(input.view)) {
    return {};
  }
  std::vector<Finding> findings;
  for (const FlightMismatch& mismatch : facts->mismatches) {
    if (const auto ranks = deviating_ranks(input, mismatch); !ranks.empty()) {
      findings.push_back(finding_of(input, mismatch, ranks));
    }
  }
  return findings;
}

}  // namespace oddrank::aggregate
