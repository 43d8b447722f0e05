// A rank in uninterruptible sleep, or in a system call on a file that does not return.
#include <algorithm>

#include <fmt/format.h>

#include "aggregate/rules/all_rules.h"
#include "aggregate/rules/local_story.h"
#include "aggregate/view/wait_words.h"
#include "base/shell_words.h"

namespace oddrank::aggregate {
namespace {

// Returns whether the rank was in D in all samples, or for as long as the reader waited. One sample
// may meet any disk access.
bool stays_in_d(const RankView& rank) {
  if (rank.leader == nullptr || rank.leader->samples.size() < 2) {
    return rank.presence == Presence::kPartial && rank.state() == 'D';
  }
  const auto& samples = rank.leader->samples;
  // A rank that used the CPU in between was not in D all the time.
  return !rank.motion.stack && !rank.motion.cpu &&
         std::all_of(samples.begin(), samples.end(),
                     [](const auto& sample) { return sample.state == 'D'; });
}

// Returns whether the rank waits, in open(), for somebody to open the other end of a named pipe.
// The kernel sleeps in this function (fs/pipe.c) for nothing else.
bool opens_named_pipe(const JobView& view, const RankView& rank) {
  return rank.leader != nullptr && view.text(rank.leader->wait.wchan) == "wait_for_partner";
}

std::string io_predicate(const JobView& view, const RankView& rank) {
  const std::string call =
      rank.leader == nullptr ? "" : system_call_words(view, *rank.leader, true);
  if (call.empty()) {
    return "is in uninterruptible sleep (state D)";
  }
  return "is stuck in " + call +
         (opens_named_pipe(view, rank) ? ": a named pipe of which nobody opens the other end" : "");
}

std::vector<std::string> io_advice(const JobView& view, const RankView& rank) {
  const WaitsFor wait = waits_for(view, rank);
  const bool named = !wait.path.empty() && wait.path.front() == '/';
  if (opens_named_pipe(view, rank) && named) {
    return {fmt::format("{}lsof {}  (which process should open the other end?)", on_host(rank),
                        shell_quoted(wait.path)),
            "start that process; if there is none, remove the pipe"};
  }
  std::vector<std::string> advice = {fmt::format(
      "{}cat /proc/{}/stack  (as root: what the kernel waits in)", on_host(rank), rank.pid())};
  if (named) {
    advice.push_back(fmt::format("{}findmnt -T {}; then look at that server", on_host(rank),
                                 shell_quoted(wait.path)));
  }
  advice.push_back(on_host(rank) + "dmesg -T | grep -i -E 'not responding|blocked for' | tail");
  return advice;
}

}  // namespace

std::vector<Finding> io_stall(const RuleInput& input) {
  const std::vector<std::size_t> ranks = suspects_with(input, Kind::kIoStall);
  if (ranks.empty()) {
    return {};
  }
  const RankView& first = input.view.ranks()[ranks.front()];
  const bool d_state = first.state() == 'D';
  const bool lasting = stays_in_d(first);
  Finding finding = accuse(input, Kind::kIoStall, ranks,
                           d_state && lasting ? Evidence::kState : Evidence::kOwnStall);
  if (d_state && !lasting) {
    finding.confidence = std::min(finding.confidence, Confidence::kPossible);
  }
  if (finding.confidence == Confidence::kNone) {
    return {};
  }
  finding.summary = sentence(
      input, ranks, [&input](const RankView& rank) { return io_predicate(input.view, rank); });
  for (Culprit& culprit : finding.culprits) {
    culprit.waits_for.what = snapshot::WaitOn::kFile;
  }
  finding.advice = io_advice(input.view, first);
  finding.disproves = {"the rank leaving state D by itself"};
  finding.weakness = "a short access to a disk looks the same in one sample";
  return {finding};
}

}  // namespace oddrank::aggregate
