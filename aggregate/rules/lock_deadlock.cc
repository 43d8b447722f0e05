// Threads, or tasks (of asyncio, trio), of one rank wait for each other in a circle: for locks
// (lock_deadlock), or for locks and the GIL (gil_deadlock). The sentence names every thread and
// every lock of the circle. A thread that waits and keeps the GIL is gil_deadlock, too: no other
// thread can do what it waits for.
#include <algorithm>

#include <fmt/format.h>

#include "aggregate/blame/local_story.h"
#include "aggregate/rules/all_rules.h"
#include "aggregate/view/coroutines.h"
#include "aggregate/view/thread_cycle.h"
#include "aggregate/words/wait_words.h"
#include "base/printable.h"

namespace oddrank::aggregate {
namespace {

using snapshot::ThreadCapture;
using snapshot::WaitHow;
using snapshot::WaitOn;

constexpr std::size_t kMaxThreads = 8;  // of a circle, in the sentence

std::string place(const JobView& view, const ThreadCapture& thread) {
  std::string python = view.model().user_place(last_sample(thread), " in ");
  if (!python.empty() || thread.samples.empty()) {
    return python;
  }
  // A native thread: the first frame outside of libc is its own code.
  const auto& frames = view.model().fold(thread.samples.back()).frames;
  const auto own =
      std::ranges::find_if(frames, [](const ShownFrame& frame) { return !frame.system_call; });
  return own == frames.end() ? "" : fmt::format(" in {} ({})", own->name, own->place());
}

std::string hop(const JobView& view, const ThreadCapture& thread, const ThreadCapture& next) {
  const bool itself = &thread == &next;
  if (const std::string_view result = future_words(thread.wait); !result.empty()) {
    return fmt::format("{}{} waits for {}: {}", thread_words(view, thread), place(view, thread),
                       itself ? "itself" : fmt::format("thread {}", next.tid), result);
  }
  const std::string held = thread.wait.on == WaitOn::kThread
                               ? fmt::format("the end of thread {}", next.tid)
                               : fmt::format("{}, which {} holds", awaited_thing(thread),
                                             itself ? "it" : fmt::format("thread {}", next.tid));
  return fmt::format("{}{} waits for {}{}", thread_words(view, thread), place(view, thread), held,
                     itself ? " itself" : "");
}

std::string circle_words(const JobView& view, const ThreadList& circle) {
  std::string text;
  for (std::size_t i = 0; i < std::min(circle.size(), kMaxThreads); ++i) {
    text += (i == 0 ? "" : "; ") + hop(view, *circle[i], *circle[(i + 1) % circle.size()]);
  }
  return circle.size() > kMaxThreads
             ? fmt::format("{}; and {}", text, count_of(circle.size() - kMaxThreads, "more thread"))
             : text;
}

// Returns "stands still: thread 12 (feeder) in load (train.py:8) waits in read() and keeps the GIL,
// which thread 11 (MainThread) wants".
std::string keeper_predicate(const JobView& view,
                             const RankView& rank,
                             const ThreadCapture& keeper) {
  const auto wants = std::ranges::find_if(rank.process->threads,
                                          [](const ThreadCapture& each) { return each.wants_gil; });
  return fmt::format(
      "stands still: {}{} waits in {} and keeps the GIL, which {} wants",
      thread_words(view, keeper), place(view, keeper),
      keeper.call ? call_words(view, *keeper.call) : system_call_words(view, keeper, false),
      thread_words(view, *wants));
}

// Returns "task \"Task-2\" in move (stock.py:8)".
std::string task_words(const JobView& view, const snapshot::AsyncTask& task) {
  const std::string name = printable(view.text(task.name), 60);
  const snapshot::ThreadSample sample = sample_of(task);
  return fmt::format("task{}{}", name.empty() ? "" : " \"" + name + '"',
                     view.model().user_place(&sample, " in "));
}

std::string task_hop(const JobView& view,
                     const snapshot::AsyncTask& task,
                     const snapshot::AsyncTask& next) {
  const auto frames = view.model().all_frames(sample_of(task));
  const std::string call = frames.empty() ? std::string() : view.model().shown(frames.front()).name;
  const bool at_lock = call == "acquire" || call.ends_with(".acquire");
  const std::string other =
      &task == &next ? "it" : fmt::format("task \"{}\"", printable(view.text(next.name), 60));
  return at_lock ? fmt::format("{} waits in {} for what {} has{}", task_words(view, task), call,
                               other, &task == &next ? " itself" : "")
                 : fmt::format("{} waits for {}", task_words(view, task), other);
}

std::string task_predicate(const JobView& view, const TaskCircle& circle) {
  const auto& tasks = circle.tasks;
  std::string text =
      tasks.size() == 1
          ? "is deadlocked, a task of it waits for itself: "
          : fmt::format("is deadlocked, {} of its tasks wait for each other: ", tasks.size());
  for (std::size_t i = 0; i < std::min(tasks.size(), kMaxThreads); ++i) {
    text += (i == 0 ? "" : "; ") + task_hop(view, *tasks[i], *tasks[(i + 1) % tasks.size()]);
  }
  return text + (tasks.size() > kMaxThreads ? "; and so on" : "");
}

std::string deadlock_predicate(const JobView& view, const RankView& rank) {
  const ThreadChain chain = follow_threads(*rank.process, *rank.decider);
  if (const auto* keeper = waiting_gil_owner(*rank.process, chain, view.model())) {
    return keeper_predicate(view, rank, *keeper);
  }
  if (chain.circle.empty()) {
    return task_predicate(view, waiting_tasks(view.model(), rank));
  }
  std::string text = chain.circle.size() == 1
                         ? "is deadlocked, a thread of it waits for itself: "
                         : fmt::format("is deadlocked, {} of its threads wait for each other: ",
                                       chain.circle.size());
  text += circle_words(view, chain.circle);
  if (!chain.way.empty()) {
    text += fmt::format("; {} waits for thread {}", thread_words(view, *chain.way.front()),
                        chain.way.size() > 1 ? chain.way[1]->tid : chain.circle.front()->tid);
  }
  return text;
}

std::vector<Advice> deadlock_advice(const RankView& rank, const ThreadChain& chain) {
  std::vector<Advice> advice = {
      on_live(rank, fmt::format("oddrank node {} --all-threads", rank.pid()))};
  const auto waits_as = [&chain](WaitHow how) {
    return std::ranges::any_of(chain.circle,
                               [how](const auto* thread) { return thread->wait.how == how; });
  };
  if (waits_as(WaitHow::kFutureOfPool)) {
    advice.emplace_back("run the inner work in a pool of its own, or call it directly");
  } else if (waits_as(WaitHow::kFutureOfLoop)) {
    advice.emplace_back(
        "await the coroutine, or wait for it in another thread than the event loop's "
        "(asyncio.to_thread)");
  } else if (has_gil(chain.circle) || chain.circle.empty()) {
    advice.emplace_back(
        "release the GIL around the native call that waits (py::gil_scoped_release, "
        "Py_BEGIN_ALLOW_THREADS)");
  } else if (chain.circle.size() == 1) {
    advice.emplace_back("take the lock once, or make it a recursive one");
  } else {
    advice.emplace_back("take the locks in one order in all threads");
  }
  return advice;
}

void tell_threads(const RankView& rank,
                  const ThreadChain& chain,
                  FrameModel& model,
                  Finding& finding) {
  if (is_inferred(chain.circle) || is_inferred(chain.way)) {
    finding.at_most(Confidence::kLikely);
    finding.weakness = "who holds a Python lock was concluded from the frames";
  }
  if (chain.circle.empty()) {
    finding.at_most(Confidence::kLikely);
  } else if (!stands_still(chain.circle, model)) {
    finding.at_most(Confidence::kPossible);
  }
  finding.advice = deadlock_advice(rank, chain);
  finding.disproves = {"one of these threads going on"};
}

void tell_tasks(const RankView& rank, const TaskCircle& circle, Finding& finding) {
  finding.at_most(circle.awaited ? Confidence::kLikely : Confidence::kPossible);
  finding.weakness = circle.awaited ? "which task has a lock was concluded from the tasks' frames"
                                    : "the rank may wait for other tasks than these";
  finding.advice = {on_live(rank, fmt::format("oddrank node {} --tasks", rank.pid())),
                    circle.tasks.size() == 1 ? "take the lock once: asyncio has no recursive one"
                                             : "take the locks in one order in all tasks"};
  finding.disproves = {"one of these tasks going on, or a time limit that ends it"};
}

}  // namespace

std::vector<Finding> lock_deadlock(const RuleInput& input) {
  const std::vector<std::size_t>& ranks = input.with_story;
  Finding finding = accuse(input, Evidence::kOwnStall);
  const RankView& first = input.rank(ranks.front());
  const ThreadChain chain = follow_threads(*first.process, *first.decider);
  const bool of_threads = !chain.circle.empty() ||
                          waiting_gil_owner(*first.process, chain, input.view.model()) != nullptr;
  if (of_threads) {
    tell_threads(first, chain, input.view.model(), finding);
  } else {
    tell_tasks(first, waiting_tasks(input.view.model(), first), finding);
  }
  finding.summary = sentence(input, ranks, [&input](const RankView& rank) {
    return deadlock_predicate(input.view, rank);
  });
  return {finding};
}

}  // namespace oddrank::aggregate
