// The culprit computes in its own code while others stand still and wait for it: a loop, a
// compilation, an evaluation that only this rank runs.
#include <algorithm>

#include <fmt/format.h>

#include "aggregate/rules/all_rules.h"
#include "aggregate/rules/local_story.h"

namespace oddrank::aggregate {
namespace {

// Steps of a healthy job take seconds, and some rank is always the last: shorter sampling sees just
// that.
constexpr std::uint64_t kLongEnoughUs = 2'000'000;

// Returns whether it left communication during the samples, and nothing shows that the others have
// waited for long since then: it is in the middle of a step.
bool came_out_just_now(const RuleInput& input, const RankView& rank) {
  const auto& samples = rank.decider->samples;
  bool was_inside = false;
  for (std::size_t at = 0; at + 1 < samples.size(); ++at) {
    was_inside = was_inside || input.view.model().story(samples[at], Story::kCommunicates);
  }
  const auto& ranks = input.view.ranks();
  return was_inside && std::ranges::any_of(ranks, [&rank](const RankView& other) {
           return other.decider != nullptr && other.decider != rank.decider &&
                  other.decider->call && other.decider->wait.quiet_ms < snapshot::kOldWaitMs;
         });
}

}  // namespace

std::vector<Finding> busy_rank(const RuleInput& input) {
  std::vector<std::size_t> ranks;
  for (const std::size_t at : input.with_story) {
    const bool meant = input.graph.awaited[at] || input.about.basis == Basis::kOdd;
    if (meant && !came_out_just_now(input, input.rank(at))) {
      ranks.push_back(at);
    }
  }
  if (ranks.empty()) {
    return {};
  }
  Finding finding = accuse(input, Kind::kBusyRank, ranks, Evidence::kAbsence);
  const RankView& first = input.end(ranks.front()).view();
  if (first.motion.cpu_us < kLongEnoughUs) {
    finding.at_most(Confidence::kPossible);
  }
  finding.summary = sentence_of_end(input, ranks, [&input](const RankView& rank) {
    return "runs code of its own" + input.view.model().user_place(rank.sample(), " in ");
  });
  for (Culprit& culprit : finding.culprits) {
    culprit.waits_for.what = snapshot::WaitOn::kNothing;
    if (first.motion.measured) {
      culprit.waits_for.detail = "uses the CPU";
    }
  }
  finding.advice = {
      on_live(first, fmt::format("oddrank node {}  (twice: does it move?)", first.pid())),
      "give the others a longer timeout, or let all ranks take this path"};
  finding.disproves = {"the rank entering the call that the others wait in"};
  finding.weakness = first.motion.measured ? "it may be no more than late"
                                           : "one sample cannot tell stuck from slow";
  return {finding};
}

}  // namespace oddrank::aggregate
