// A rank has crashed: a signal that it caused itself, by a fault or abort(), has ended it, and its
// core is read together with the cores of the ranks that waited for it. Ranks that a watchdog or
// the launcher ended are a consequence, and are not named.
#include <fmt/format.h>

#include "aggregate/blame/local_story.h"
#include "aggregate/crash_words.h"
#include "aggregate/rules/all_rules.h"
#include "base/printable.h"
#include "base/shell_words.h"

namespace oddrank::aggregate {

std::vector<Finding> crashed_rank(const RuleInput& input) {
  const std::vector<std::size_t>& crashed = input.with_story;
  Finding finding = accuse(input, Evidence::kState);
  finding.summary = sentence(input, crashed, [&input](const RankView& rank) {
    const std::string said = printable(input.view.text(rank.process->crash->message), 120);
    return crash_predicate(input.view, *rank.process) +
           (said.empty() ? "" : "; it said \"" + said + "\"");
  });
  for (Culprit& culprit : finding.culprits) {
    culprit.waits_for = {};
    culprit.waits_for.what = snapshot::WaitOn::kNothing;
    culprit.waits_for.detail = "crashed";
  }
  const RankView& first = input.rank(crashed.front());
  finding.advice = {fmt::format("all threads, and the variables: oddrank core {} --locals",
                                shell_quoted(first.host)),
                    "look for the rank's last lines in the job's output"};
  finding.disproves = {"another rank that crashed before it, whose core was not given"};
  finding.weakness = "no rank is seen to wait for it";
  return {finding};
}

}  // namespace oddrank::aggregate
