// Every rank was read and moved between the samples. For ranks outside of calls, computing counts
// as moving; at least one rank must have changed place, or counted on around its collective, or no
// rank may be in a call.
#include <algorithm>

#include <fmt/format.h>

#include "aggregate/rules/all_rules.h"
#include "aggregate/rules/launchers.h"
#include "base/printable.h"

namespace oddrank::aggregate {

namespace {

// Returns whether a local of the program changed, or the other sides of its transfers, while the
// rank was seen in calls at one place: a tight loop. Loops that wait for a store count their tries,
// too; these do not count.
bool counts_on(const RankView& rank) {
  return rank.motion.locals && rank.leader->call && !rank.polls &&
         rank.leader->call->kind != snapshot::CallKind::kRendezvous;
}

}  // namespace

std::vector<Finding> healthy(const RuleInput& input) {
  const auto& ranks = input.view.ranks();
  const bool all_move = std::all_of(ranks.begin(), ranks.end(), [](const RankView& rank) {
    return rank.presence == Presence::kRead && rank.motion.measured && !rank.motion.still();
  });
  if (ranks.empty() || !all_move || has_waiting_launcher(input.view)) {
    return {};
  }
  const auto changed = static_cast<std::size_t>(std::count_if(
      ranks.begin(), ranks.end(), [](const RankView& rank) { return rank.motion.stack; }));
  if (changed == 0 && input.anybody_in_call &&
      std::none_of(ranks.begin(), ranks.end(), counts_on)) {
    return {};  // waking up and spinning is not yet progress
  }
  Finding finding;
  finding.kind = Kind::kHealthy;
  finding.confidence = changed * 2 > ranks.size() ? Confidence::kCertain : Confidence::kLikely;
  finding.summary = fmt::format("all {} moved between the samples: nothing hangs",
                                count_of(ranks.size(), input.view.unit()));
  finding.advice = {"run oddrank again with --samples 3 --interval 10s if the job is slow"};
  finding.disproves = {"the same stacks on all ranks some minutes later"};
  finding.weakness = "not all ranks were seen to move";
  return {finding};
}

}  // namespace oddrank::aggregate
