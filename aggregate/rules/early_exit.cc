// A rank has ended in order, or is about to, while the others make at least one call more: one side
// counts its steps differently.
#include <algorithm>

#include <fmt/format.h>

#include "aggregate/blame/local_story.h"
#include "aggregate/rules/all_rules.h"
#include "aggregate/words/wait_words.h"

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

bool stands_in_exit(const RankView& rank) {
  return rank.presence == Presence::kRead && rank.decider->wait.quiet_ms >= snapshot::kOldWaitMs;
}

// If all ranks are ending, the job is held up by what the last of them wait for.
std::vector<Finding> held_in_exit(const RuleInput& input, std::vector<std::size_t> ranks) {
  std::erase_if(ranks, [&input](std::size_t at) { return !stands_in_exit(input.rank(at)); });
  if (ranks.empty()) {
    return {};
  }
  Finding finding = accuse(input, Kind::kStuckRank, ranks, Evidence::kOwnStall);
  finding.at_most(Confidence::kLikely);
  finding.summary = sentence(input, ranks, [&input](const RankView& rank) {
    const WaitEnd& end = input.end(rank);
    return fmt::format("{}, and {}{}", ending_predicate(input, rank), end.way_words(),
                       stuck_words(input.view, *end.view().process));
  });
  const RankView& first = input.rank(ranks.front());
  finding.advice = {on_live(first, fmt::format("oddrank node {}", input.end(first).view().pid()))};
  finding.disproves = {"the process ending by itself: then it was only slow"};
  finding.weakness = "it may only be slow";
  return {finding};
}

}  // namespace

std::vector<Finding> early_exit(const RuleInput& input) {
  const std::vector<std::size_t>& ranks = input.with_story;
  std::size_t read = 0;
  for (const RankView& rank : input.view.ranks()) {
    read += rank.presence == Presence::kRead || rank.presence == Presence::kDead ? 1 : 0;
  }
  if (ranks.size() == read && input.view.ranks().size() > 1) {
    return held_in_exit(input, ranks);
  }
  const RankView& first = input.rank(ranks.front());
  const bool gone = first.presence == Presence::kDead;
  Finding finding = accuse(input, gone ? Evidence::kState : Evidence::kOwnStall);
  // It is no fault by itself that the rank has ended; if others wait for it, one side is at fault.
  if (finding.explains == 0) {
    finding.at_most(Confidence::kPossible);
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
