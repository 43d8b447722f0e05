// The culprit waits in the driver or for the device, while the others wait for the culprit. Or
// NCCL's data stands before a GPU: it has got what it needs, but takes or gives nothing. Its kernel
// has not begun, or is stuck.
#include <chrono>

#include <fmt/format.h>

#include "aggregate/blame/local_story.h"
#include "aggregate/evidence/odd_devices.h"
#include "aggregate/rules/all_rules.h"
#include "aggregate/rules/needed_nodes.h"
#include "aggregate/words/wait_words.h"
#include "base/span_words.h"

namespace oddrank::aggregate {

std::vector<Finding> device_stall(const RuleInput& input) {
  const std::vector<std::size_t>& ranks = input.with_story;
  // Work on the device may itself be a collective: so no more than likely.
  Finding finding = accuse(input, Evidence::kAbsence);
  const RankView& first = input.rank(ranks.front());
  finding.summary = sentence_of_end(input, ranks, [&input](const RankView& rank) {
    const WaitsFor wait = waits_for(input.view, rank);
    return wait.path.empty() ? std::string("waits for its device")
                             : "waits for its device " + wait.path;
  });
  if (const std::size_t failed = rank_of_failed_gpu(input.view, ranks); failed != JobView::kNone) {
    finding.summary += "; " + odd_gpu(input.view, failed);
  }
  finding.advice = look_at_gpu(input, first);
  finding.disproves = {"work that the device finishes"};
  finding.weakness = "work on the device may itself wait for other ranks";
  return {finding};
}

std::vector<Finding> gpu_stall(const RuleInput& input) {
  const std::vector<NeededNode> needed = needed_nodes(input, NodeKind::kDevice);
  if (needed.empty()) {
    return {};
  }
  const ProxyStall& stall = input.graph.devices[needed.front().index];
  const RankView& first = input.rank(stall.ranks.front());
  const std::int64_t age_ms = age_of_stall_ms(input.view, stall);
  Finding finding;
  finding.kind = Kind::kDeviceStall;
  // Its kernel may stand behind other work of the GPU, which takes long.
  const std::string odd = odd_gpu(input.view, stall.ranks.front());
  finding.confidence =
      std::min(odd.empty() || stall.by_error ? Confidence::kLikely : Confidence::kCertain,
               sureness_of_stall(input, age_ms, stall.waiters));
  finding.basis = Basis::kRoot;
  finding.explains = input.blame.needed[needed.front().cause];
  const std::string label = device_words(input.view, stall);
  finding.summary =
      fmt::format("{} does not go on: {}{}{}", label, device_evidence(stall),
                  age_ms < 0 ? "" : " for " + span_words(std::chrono::milliseconds(age_ms)),
                  odd.empty() ? "" : "; " + odd);
  finding.culprits = {culprit_of(input.view, first)};
  finding.chain = chain_to(input, needed.front().cause, label, device_evidence(stall));
  finding.advice = look_at_gpu(input, first);
  finding.disproves = {"data that the GPU takes or gives after all: then it is slow, or was busy"};
  finding.weakness = "its kernel may stand behind other work of the GPU";
  return {finding};
}

}  // namespace oddrank::aggregate
