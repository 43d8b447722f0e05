// The culprit waits for a lock file or for a lock on a file.
#include <fmt/format.h>

#include "aggregate/rules/all_rules.h"
#include "aggregate/rules/local_story.h"
#include "aggregate/wait_words.h"

namespace oddrank::aggregate {
namespace {

std::string predicate(const JobView& view, const RankView& rank) {
  const WaitsFor wait = waits_for(view, rank);
  std::string text = "waits for a file lock";
  if (!wait.path.empty()) {
    text += " on " + wait.path;
  }
  if (wait.holder_alive == snapshot::Known::kNo) {
    return text + ", which is stale: its holder is gone";
  }
  return wait.pid != 0 ? fmt::format("{}, held by pid {}", text, wait.pid) : text;
}

}  // namespace

std::vector<Finding> file_lock(const RuleInput& input) {
  const std::vector<std::size_t> ranks = suspects_with(input, Kind::kFileLock);
  if (ranks.empty()) {
    return {};
  }
  Finding finding = accuse(input, Kind::kFileLock, ranks, Evidence::kOwnStall);
  const RankView& first = input.view.ranks()[ranks.front()];
  const WaitsFor wait = waits_for(input.view, first);
  finding.summary = sentence(
      input, ranks, [&input](const RankView& rank) { return predicate(input.view, rank); });
  finding.weight += 200;
  if (wait.holder_alive == snapshot::Known::kNo && !wait.path.empty()) {
    finding.advice.push_back(
        fmt::format("{}rm {}  (stale: nobody holds it)", on_host(first), wait.path));
  } else if (wait.pid != 0) {
    finding.advice.push_back(
        fmt::format("{}oddrank node {}  (the holder)", on_host(first), wait.pid));
  } else {
    finding.advice.push_back(fmt::format("{}cat /proc/locks; lsof {}", on_host(first), wait.path));
  }
  finding.disproves = {"the lock changing hands"};
  finding.weakness = "the lock may be released in time";
  return {finding};
}

}  // namespace oddrank::aggregate
