// The culprit has already failed: it handles an exception, is at a debugger's prompt, or exits.
#include <algorithm>

#include <fmt/format.h>

#include "aggregate/blame/local_story.h"
#include "aggregate/rules/all_rules.h"
#include "base/printable.h"
#include "base/shell_words.h"

namespace oddrank::aggregate {

std::vector<Finding> failed_rank(const RuleInput& input) {
  const std::vector<std::size_t>& ranks = input.with_story;
  const auto read = std::ranges::count_if(input.view.ranks(), [&input](const RankView& rank) {
    return input.view.model().has_stack(rank.sample());
  });
  if (std::ssize(ranks) == read && read > 1) {
    return {};  // all of them exit: the job ends, and no rank has failed alone
  }
  Finding finding = accuse(input, Evidence::kOwnStall);
  if (!input.graph.awaited[ranks.front()]) {
    finding.at_most(Confidence::kPossible);
  }
  const RankView& first = input.rank(ranks.front());
  finding.summary = sentence(input, ranks, [&input](const RankView& rank) {
    const auto hit = input.view.model().story(*rank.sample(), Story::kFailed);
    const std::string exception = printable(input.view.text(rank.process->exception), 60);
    if (!hit) {
      return "has failed already: it ends after " +
             (exception.empty() ? "an exception" : exception);
    }
    return fmt::format("has failed already: it is in {}", hit->pattern->words);
  });
  const std::string output = printable(input.view.capture().job.output_path);
  finding.advice = {
      "look for an earlier traceback of this rank" +
          (output.empty() ? std::string(" in the job's output") : " in " + shell_quoted(output)),
      on_live(first, fmt::format("oddrank node {}", first.pid()))};
  finding.disproves = {"the rank coming back to its training loop"};
  finding.weakness = "it may have ended in order";
  return {finding};
}

}  // namespace oddrank::aggregate
