// The culprit waits in the driver or for the device, while the others wait for the culprit.
#include <fmt/format.h>

#include "aggregate/rules/all_rules.h"
#include "aggregate/rules/local_story.h"
#include "aggregate/words/wait_words.h"

namespace oddrank::aggregate {

std::vector<Finding> device_stall(const RuleInput& input) {
  const std::vector<std::size_t>& ranks = input.told;
  // Work on the device may itself be a collective: so no more than likely.
  Finding finding = accuse(input, Evidence::kAbsence);
  const RankView& first = input.rank(ranks.front());
  finding.summary = sentence_of_end(input, ranks, [&input](const RankView& rank) {
    const WaitsFor wait = waits_for(input.view, rank);
    return wait.path.empty() ? std::string("waits for its device")
                             : "waits for its device " + wait.path;
  });
  finding.advice = look_at_gpu(first);
  finding.disproves = {"work that the device finishes"};
  finding.weakness = "work on the device may itself wait for other ranks";
  return {finding};
}

}  // namespace oddrank::aggregate
