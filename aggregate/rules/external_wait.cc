// The culprit waits for an answer from outside of the job. Only with evidence: it is on a socket
// whose other end is no process of the job, below a library that speaks with services.
#include <fmt/format.h>

#include "aggregate/printable.h"
#include "aggregate/rules/all_rules.h"
#include "aggregate/rules/local_story.h"
#include "aggregate/wait_words.h"

namespace oddrank::aggregate {

std::vector<Finding> external_wait(const RuleInput& input) {
  const std::vector<std::size_t> ranks = suspects_with(input, Kind::kExternalWait);
  if (ranks.empty()) {
    return {};
  }
  Finding finding = accuse(input, Kind::kExternalWait, ranks, Evidence::kOwnStall);
  if (finding.confidence > Confidence::kLikely) {
    finding.confidence = Confidence::kLikely;  // that the peer is outside rests on names of files
  }
  const RankView& first = input.view.ranks()[ranks.front()];
  finding.summary = sentence(input, ranks, [&input](const RankView& rank) {
    const auto hit = input.view.model().story(*rank.sample(), Story::kExternal);
    const WaitsFor wait = waits_for(input.view, rank);
    const std::string address = printable(input.view.text(rank.leader->wait.peer), 80);
    const std::string peer = !address.empty()    ? "TCP to " + address
                             : wait.path.empty() ? wait.detail
                                                 : wait.path;
    return fmt::format("waits for {}{}", hit ? hit->pattern->words : "an answer from outside",
                       peer.empty() ? "" : " (" + peer + ")");
  });
  finding.weight += 100;
  finding.advice = {fmt::format("{}ss -tnpi | grep pid={}", on_host(first), first.pid()),
                    "set a timeout and retries on this request, or do it on all ranks"};
  finding.disproves = {"bytes that arrive on this socket"};
  finding.weakness = "the answer may be on its way";
  return {finding};
}

}  // namespace oddrank::aggregate
