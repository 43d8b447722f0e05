// The culprit waits for its input pipeline: a worker process that does not deliver, a queue, a
// reader thread. The sentence includes the last hop: what the worker itself is stuck in.
#include <algorithm>

#include <fmt/format.h>

#include "aggregate/blame/local_story.h"
#include "aggregate/rules/all_rules.h"
#include "aggregate/view/decider.h"
#include "aggregate/words/advised_path.h"
#include "aggregate/words/wait_words.h"
#include "base/printable.h"

namespace oddrank::aggregate {
namespace {

std::string input_predicate(const JobView& view, const RankView& rank) {
  const auto* worker = awaited_process(view, *rank.process);
  if (worker != nullptr) {
    return fmt::format("waits for its {} pid {}{}, which {}", child_words(view, *worker),
                       worker->pid, command_words(view, *worker), stuck_words(view, *worker));
  }
  return "waits for data from its input pipeline" + view.model().user_place(rank.sample(), " in ");
}

// Returns what to do about the wait of the last process that the rank waits for.
std::vector<Advice> end_advice(const JobView& view, const RankView& rank) {
  const auto* worker = awaited_process(view, *rank.process);
  const snapshot::ProcessCapture& last =
      worker == nullptr ? *rank.process : last_child(view, *worker);
  const auto* thread = deciding_thread(view, last);
  if (thread == nullptr) {
    return {};
  }
  const std::string path = printable(view.text(thread->wait.path));
  if (thread->wait.on == snapshot::WaitOn::kFileLock && thread->wait.holder_pid != 0 &&
      thread->wait.holder_alive == snapshot::Known::kYes) {
    return {on_live(rank, fmt::format("oddrank node {}  (the holder)", thread->wait.holder_pid))};
  }
  if (!path.starts_with('/')) {
    return {};
  }
  if (view.text(thread->wait.wchan) == "wait_for_partner") {  // fifo_open() in fs/pipe.c
    return {on(rank, fmt::format("lsof {}  (which process should open the other end?)",
                                 advised_path(view, last, path)))};
  }
  return {on(rank, fmt::format("timeout 5 stat {}", advised_path(view, last, path)))};
}

std::vector<Advice> input_advice(const JobView& view, const RankView& rank) {
  const WaitsFor wait = waits_for(view, rank);
  std::vector<Advice> advice = end_advice(view, rank);
  advice.push_back(
      on_live(rank, fmt::format("oddrank node {}", wait.pid != 0 ? wait.pid : rank.pid())));
  // Without workers the rank loads by itself, and DataLoader refuses a timeout.
  const auto* worker = awaited_process(view, *rank.process);
  const auto* thread = worker == nullptr ? nullptr : deciding_thread(view, *worker);
  if (thread != nullptr && view.model().story(last_sample(*thread), Story::kLoaderWorker)) {
    advice.emplace_back(
        "DataLoader(timeout=...) turns such a stall into an error with a traceback");
  }
  return advice;
}

// Returns how sure the stall is: a worker that stands still explains it; one that works may just be
// slow.
Confidence surest(const JobView& view, const RankView& rank) {
  const auto* worker = awaited_process(view, *rank.process);
  const auto* thread = worker == nullptr ? nullptr : deciding_thread(view, *worker);
  if (thread == nullptr) {
    return Confidence::kLikely;
  }
  const Motion motion = measure_motion(*thread, view.model());
  return motion.moved() ? Confidence::kPossible : Confidence::kCertain;
}

}  // namespace

std::vector<Finding> input_stall(const RuleInput& input) {
  const std::vector<std::size_t>& ranks = input.with_story;
  Finding finding = accuse(input, Evidence::kOwnStall);
  const RankView& first = input.rank(ranks.front());
  finding.at_most(surest(input.view, first));
  finding.summary = sentence(
      input, ranks, [&input](const RankView& rank) { return input_predicate(input.view, rank); });
  finding.advice = input_advice(input.view, first);
  finding.disproves = {"a worker that delivers while the rank still waits",
                       "the same rank elsewhere in a later sample"};
  finding.weakness = "slow input looks the same in a short window";
  return {finding};
}

}  // namespace oddrank::aggregate
