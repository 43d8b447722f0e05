// A rank has ended in order, or is about to, while the others make at least one call more: one side
// counts its steps differently.
#include <fmt/format.h>

#include "aggregate/rules/all_rules.h"
#include "aggregate/rules/local_story.h"

namespace oddrank::aggregate {
namespace {

std::string ending_predicate(const RuleInput& input, const RankView& rank) {
  if (rank.presence == Presence::kDead) {
    return "has ended with exit code 0";
  }
  const auto hit = input.view.model().story(*rank.sample(), Story::kEnds);
  return fmt::format("has left its program in order and is in {}",
                     hit ? hit->pattern->words : "its end");
}

}  // namespace

std::vector<Finding> early_exit(const RuleInput& input) {
  const std::vector<std::size_t> ranks = suspects_with(input, Kind::kEarlyExit);
  std::size_t read = 0;
  for (const RankView& rank : input.view.ranks()) {
    read += rank.presence == Presence::kRead || rank.presence == Presence::kDead ? 1 : 0;
  }
  if (ranks.empty() || (ranks.size() == read && read > 1)) {
    return {};  // all of them end: the job does
  }
  const RankView& first = input.view.ranks()[ranks.front()];
  const bool gone = first.presence == Presence::kDead;
  Finding finding =
      accuse(input, Kind::kEarlyExit, ranks, gone ? Evidence::kState : Evidence::kOwnStall);
  // That the rank has ended is no fault by itself; that others wait for it is one of theirs or its.
  if (finding.explains == 0) {
    finding.confidence = std::min(finding.confidence, Confidence::kPossible);
  }
  finding.summary = sentence(
      input, ranks, [&input](const RankView& rank) { return ending_predicate(input, rank); });
  for (Culprit& culprit : finding.culprits) {
    culprit.waits_for.what = snapshot::WaitOn::kNothing;
    culprit.waits_for.detail = gone ? "ended with exit code 0" : "ends in order";
  }
  if (!input.view.of_ranks()) {
    finding.advice = {"see what the others expect of it, and what its last output was"};
    finding.disproves = {"an error in its output: then it has failed"};
    finding.weakness = "nobody may need it any more";
    return {finding};
  }
  finding.advice = {"compare the number of steps and batches of this rank with those of the others",
                    "drop_last, Join or an all_reduce of a has-data flag keeps them equal"};
  finding.disproves = {"an error in the rank's output: then it has failed"};
  finding.weakness = "nobody may need it any more";
  return {finding};
}

}  // namespace oddrank::aggregate
