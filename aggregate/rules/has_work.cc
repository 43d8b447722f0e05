// Others wait for a rank that has work, of which it is seen to get some done: an evaluation, a
// cache that it fills for all, a stage with more to do. Nothing holds the job up but that.
#include <algorithm>

#include <fmt/format.h>

#include "aggregate/evidence/wait_end.h"
#include "aggregate/rules/all_rules.h"
#include "aggregate/rules/local_story.h"
#include "aggregate/view/loop_work.h"

namespace oddrank::aggregate {

std::vector<Finding> has_work(const RuleInput& input) {
  const std::vector<std::size_t> ranks = suspects_with(input, Kind::kSlow);
  if (ranks.empty()) {
    return {};
  }
  Finding finding = accuse(input, Kind::kSlow, ranks, Evidence::kOwnStall);
  if (finding.confidence == Confidence::kNone) {
    return {};
  }
  finding.confidence = std::min(finding.confidence, Confidence::kLikely);
  finding.summary = sentence_of_end(input, ranks, [&input](const RankView& rank) {
    const auto work = loop_work(input.view, rank);
    return work ? fmt::format("is at work in {} ({}): {}", work->function, work->place,
                              work_words(*work))
                : std::string("is at work");
  });
  const WaitEnd end(input.view, input.view.ranks()[ranks.front()]);
  finding.advice = {
      "let it work; give the others a longer timeout than its loop takes, or a part of the work",
      on_live(end.view(),
              fmt::format("oddrank node {}  (does it come to an end?)", end.view().pid()))};
  finding.disproves = {"the loop standing still in later samples"};
  return {finding};
}

}  // namespace oddrank::aggregate
