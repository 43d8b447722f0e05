// The culprit waits for a child that is dead; that is stuck before its exec, or on a lock that no
// living thread will release (typically inherited by fork); or that waits until the culprit reads
// or closes its pipe.
#include <algorithm>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "aggregate/blame/local_story.h"
#include "aggregate/rules/all_rules.h"
#include "aggregate/words/wait_words.h"
#include "base/printable.h"

namespace oddrank::aggregate {
namespace {

std::string child_predicate(const RuleInput& input, const RankView& rank) {
  const DoomedChild doomed = doomed_child(input, rank);
  if (doomed.process == nullptr) {
    const snapshot::PoolWait& pool = rank.decider->wait.rare->pool;
    return fmt::format(
        "waits for a {} that has ended with its work undone: all {} that there are now are idle, "
        "and the pool starts another worker in place of one that ends",
        printable(input.view.text(pool.name), 60), pool.workers);
  }
  const snapshot::ProcessCapture& child = *doomed.process;
  const auto* thread = deciding_thread(input.view, child);
  const std::string its = fmt::format("its {} pid {}", child_words(input.view, child), child.pid);
  const std::string does = stuck_words(input.view, child);
  std::vector<pid_t> pids;
  switch (doomed.why) {
    case Doom::kSharedLock:
      return fmt::format("waits for a lock that {} may have kept, which {}", its, does);
    case Doom::kLostLock:
      return fmt::format(
          "waits at a lock or queue of multiprocessing that no other process has any more: {} {}",
          its, does);
    case Doom::kCircle:
      std::ranges::transform(doomed.circle, std::back_inserter(pids),
                             &snapshot::ProcessCapture::pid);
      return fmt::format(
          "waits for {}; processes of this rank wait for each other in a circle: pids {}", its,
          fmt::join(pids, ", "));
    case Doom::kVfork:
      return fmt::format("waits in vfork() (state D) for {}, which {}", its, does);
    case Doom::kWaitsBack:
      return input.end(rank).way_words() +
             (thread->wait.on != snapshot::WaitOn::kPipe
                  ? fmt::format("waits for a lock that thread {} of this rank has",
                                thread->wait.holder_tid)
              : is_writing(input.view, thread->wait)
                  ? "writes to a full pipe that this rank is to read"
                  : "waits for more input, or its end, in a pipe of this rank");
    case Doom::kInheritedLock:
      // Python's events, futures and queues wait at locks, too.
      return fmt::format(
          "waits for {}, which waits for {}", its,
          thread->has_python
              ? fmt::format("a lock or an event{} that no thread of it can release: fork() has not "
                            "copied the other threads of this rank",
                            input.view.model().user_place(last_sample(*thread), " in "))
              : "a lock that no thread of it can release (inherited by fork)");
    default:
      return fmt::format("waits for {}, which {}", its, does);
  }
}

std::vector<Advice> child_advice(const RuleInput& input,
                                 const RankView& rank,
                                 const DoomedChild& doomed) {
  const auto* child = doomed.process;
  if (child == nullptr || is_dead(*child)) {
    std::vector<Advice> advice = {on(rank, "dmesg -T | grep -i -E 'killed process|oom' | tail")};
    if (input.view.model().story(rank.sample(), Story::kLoader)) {
      advice.push_back(on(rank, "df -h /dev/shm"));
      advice.emplace_back("DataLoader(timeout=...) turns such a stall into an error");
    } else if (child == nullptr) {
      advice.emplace_back(
          "concurrent.futures.ProcessPoolExecutor raises an error if a worker ends; "
          "multiprocessing.Pool waits for good");
    } else {
      advice.push_back("wait with a time limit, and look whether the child is alive");
    }
    return advice;
  }
  const Advice look = on_live(rank, fmt::format("oddrank node {}", child->pid));
  const auto* thread = deciding_thread(input.view, *child);
  switch (doomed.why) {
    case Doom::kCircle:
      return {look, "take the locks in one order in all processes"};
    case Doom::kVfork:
      return {on_live(rank, fmt::format("cat /proc/{}/stack  (as root: what the child waits in)",
                                        child->pid)),
              "start programs before the training loop, or not from a rank"};
    case Doom::kWaitsBack:
      return {
          thread->wait.on != snapshot::WaitOn::kPipe
              ? "give the lock back before waiting for the child that needs it"
          : is_writing(input.view, thread->wait)
              ? (input.view.text(child->python_version).empty()
                     ? "read the program's output while it runs: subprocess's communicate() does"
                     : "read everything from the queue before join(), or call "
                       "cancel_join_thread()")
              : "close the child's input before wait(): subprocess's communicate() does",
          look};
    default:
      return {look,
              "start workers with multiprocessing_context='forkserver' or 'spawn', or "
              "before threads exist",
              "to go on for now: num_workers=0"};
  }
}

}  // namespace

std::vector<Finding> child_deadlock(const RuleInput& input) {
  const std::vector<std::size_t>& ranks = input.with_story;
  const RankView& first = input.rank(ranks.front());
  const DoomedChild doomed = doomed_child(input, first);
  const auto* child = doomed.process;
  const bool dead = child == nullptr || is_dead(*child);
  const bool named = child != nullptr && awaited_process(input.view, *first.process) == child;
  Finding finding = accuse(input, dead && named ? Evidence::kState : Evidence::kOwnStall);
  if (!named || !dead) {
    finding.at_most(Confidence::kLikely);
  }
  if (doomed.why == Doom::kSharedLock) {
    finding.at_most(Confidence::kPossible);
  }
  finding.summary = sentence(
      input, ranks, [&input](const RankView& rank) { return child_predicate(input, rank); });
  for (Culprit& culprit : finding.culprits) {
    culprit.waits_for.what = snapshot::WaitOn::kChild;
    if (culprit.pid == first.pid() && culprit.host == first.host) {
      culprit.waits_for.holder_alive = dead ? snapshot::Known::kNo : snapshot::Known::kYes;
      if (child != nullptr) {
        culprit.waits_for.pid = child->pid;
        culprit.waits_for.detail = stuck_words(input.view, *child);
      }
    }
  }
  finding.advice = child_advice(input, first, doomed);
  finding.disproves = {"the child running again"};
  finding.weakness = "the child may have ended in order, after its work";
  return {finding};
}

}  // namespace oddrank::aggregate
