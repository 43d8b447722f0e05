// The culprit computes in its own code while others stand still and wait for it: a loop, a
// compilation, an evaluation that only this rank runs.
#include <algorithm>

#include <fmt/format.h>

#include "aggregate/blame/local_story.h"
#include "aggregate/rules/all_rules.h"

namespace oddrank::aggregate {
namespace {

// Steps of a healthy job take seconds, and some rank is always the last: shorter sampling sees just
// that.
constexpr std::uint64_t kLongEnoughUs = 2'000'000;

// Returns whether no rank is known to have waited for this one for longer than a step lasts, and it
// has not computed for longer. What spins has run just now, whatever it waits for.
bool may_be_a_step(const RuleInput& input, std::size_t rank) {
  const std::vector<std::size_t> waiters = waiters_of(input.graph, rank);
  const auto waits_just_now = [&input](std::size_t at) {
    const RankView& waiter = input.rank(at);
    const std::int64_t quiet_ms = waiter.decider == nullptr ? -1 : waiter.decider->wait.quiet_ms;
    return waiter.state() == 'R' || (quiet_ms >= 0 && quiet_ms < snapshot::kOldWaitMs);
  };
  return !waiters.empty() && std::ranges::all_of(waiters, waits_just_now) &&
         input.end(rank).view().motion.cpu_us < kLongEnoughUs;
}

}  // namespace

std::vector<Finding> busy_rank(const RuleInput& input) {
  std::vector<std::size_t> ranks;
  for (const std::size_t at : input.with_story) {
    const bool meant = input.graph.awaited[at] || input.about.basis == Basis::kOdd;
    if (meant && !may_be_a_step(input, at)) {
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
