// Tasks of an event loop that wait for each other, and loops that nothing wakes.
#include "aggregate/view/coroutines.h"

#include <string>
#include <vector>

#include "aggregate/diagnose.h"
#include "tests/support/catch.h"
#include "tests/support/hung_jobs.h"

namespace oddrank::aggregate {
namespace {

using tests::CaptureBuilder;
using tests::Frames;
using tests::pid_of;
using tests::py;
using tests::TaskSpec;

constexpr std::int32_t kOdd = 3;
const std::string kAsyncio = "/usr/lib/python3.11/asyncio/";

Frames at_task_lock(const std::string& function) {
  return {py("Lock.acquire", kAsyncio + "locks.py", 114), py(function, "/job/stock.py", 8)};
}

Frames at_event() {
  return {py("Event.wait", kAsyncio + "locks.py", 213), py("main", "/job/stock.py", 20)};
}

// All ranks but one wait for that one, whose only Python thread runs a loop until the first of the
// tasks ends.
CaptureBuilder looping(const std::vector<TaskSpec>& tasks) {
  CaptureBuilder job = tests::eight_ranks(tests::in_all_reduce());
  auto& process = job.process(pid_of(kOdd));
  process.threads.clear();
  tests::ThreadSpec loop = tests::waiting_on(snapshot::WaitOn::kSocket, "socket:[9]");
  loop.frames = {tests::native("epoll_wait", "libc.so.6"),
                 py("BaseEventLoop.run_forever", kAsyncio + "base_events.py", 607),
                 py("<module>", "/job/stock.py", 30)};
  loop.wait.syscall = "epoll_wait";
  loop.wait.holder_pid = pid_of(kOdd);
  job.thread(process, loop);
  for (const TaskSpec& task : tasks) {
    job.task(process, task);
  }
  for (snapshot::AsyncTask& task : process.tasks) {
    task.loop = pid_of(kOdd);
  }
  process.tasks.front().tid = pid_of(kOdd);
  return job;
}

Verdict looping_verdict(const CaptureBuilder& job) {
  return diagnose(job.capture).verdict;
}

bool is_circle(const std::vector<TaskSpec>& tasks) {
  return looping_verdict(looping(tasks)).kind == Kind::kLockDeadlock;
}

const TaskSpec kLeft = {"left", at_task_lock("move"), "right"};
const TaskSpec kRight = {"right", at_task_lock("move"), "left"};

}  // namespace

TEST_CASE("tasks: each wants the lock that the other one has") {
  const Verdict verdict = looping_verdict(
      looping({{"main", {py("main", "/job/stock.py", 20)}, "<_GatheringFuture>", {"left", "right"}},
               kLeft,
               kRight}));
  CHECK(verdict.kind == Kind::kLockDeadlock);
  CHECK(verdict.confidence == Confidence::kLikely);
  REQUIRE(verdict.culprits.size() == 1);
  CHECK(verdict.culprits[0].rank == kOdd);
  CHECK(verdict.summary.find("2 of its tasks wait for each other") != std::string::npos);
  CHECK(
      verdict.summary.find("task \"left\" in move (job/stock.py:8) waits in Lock.acquire for what "
                           "task \"right\" has") != std::string::npos);
}

TEST_CASE("tasks: circles through a group, and by one that another one joins") {
  const Frames joins = {py("main", "/job/stock.py", 20)};
  const Frames group = {py("TaskGroup.__aexit__", kAsyncio + "taskgroups.py", 80), joins[0]};
  CHECK(is_circle({{"main", group, "<Future>", {"beside", "left", "right"}},
                   {"beside", joins, "<Future>"},
                   kLeft,
                   kRight}));
  CHECK(is_circle({{"main", joins, "left"}, {"left", at_task_lock("move"), "main"}}));
  CHECK(is_circle({{"main", at_task_lock("main"), "main"}}));
}

TEST_CASE("tasks: no circle if one of several may end the wait, or one of them goes on") {
  const Frames waits = {py("_wait", kAsyncio + "tasks.py", 500), py("main", "/job/stock.py", 20)};
  CHECK(!is_circle({{"main", waits, "<Future>", {"beside", "left", "right"}},
                    {"beside", {py("sleep", kAsyncio + "tasks.py", 649)}, "<Future>"},
                    kLeft,
                    kRight}));
  CHECK(!is_circle({{"main", at_task_lock("main"), "left"}, {"left", at_event(), "<Future>"}}));
  // Two tasks have one name.
  CHECK(!is_circle({{"main", at_task_lock("main"), "left"}, kLeft, kLeft, kRight}));
}

TEST_CASE("tasks: a circle beside the way is possible if the way ends at what any task may do") {
  const Verdict verdict =
      looping_verdict(looping({{"main", at_event(), "<Future>"}, kLeft, kRight}));
  CHECK(verdict.kind == Kind::kLockDeadlock);
  CHECK(verdict.confidence == Confidence::kPossible);
}

TEST_CASE("tasks: a loop that nothing wakes holds the others up by itself") {
  CaptureBuilder job = looping({{"main", at_event(), "<Future>"}});
  const Verdict alone = looping_verdict(job);
  CHECK(alone.kind == Kind::kSkippedCollective);
  CHECK(alone.confidence == Confidence::kLikely);
  CHECK(alone.summary.find("no task, connection or other Python thread of it is left") !=
        std::string::npos);
  SECTION("a clock may end it") {
    job.process(pid_of(kOdd)).threads[0].wait.limited = true;
  }
  SECTION("so may another Python thread") {
    job.thread(job.process(pid_of(kOdd)), tests::sleeping());
  }
  SECTION("so may another process") {
    job.process(pid_of(kOdd)).threads[0].wait.holder_pid = 0;
  }
  CHECK(looping_verdict(job).summary.find("is left to end that") == std::string::npos);
}

TEST_CASE("tasks: a coroutine that waits with a clock about to ring goes on") {
  CaptureBuilder job =
      looping({{"serves",
                {py("wait_for", kAsyncio + "tasks.py", 476), py("serve", "/job/stock.py", 12)},
                "<Future>"}});
  auto& process = job.process(pid_of(kOdd));
  process.tasks.front().state = snapshot::TaskState::kWaits;
  process.tasks.front().sockets.emplace_back();
  snapshot::Wait& wait = process.threads[0].wait;
  wait.limited = true;
  wait.limit_ms = 2000;
  const auto is_limited = [&job, &process] {
    FrameModel model(job.capture.tables);
    const auto threads = coroutine_threads(model, process);
    REQUIRE(threads.size() == 1);
    return threads[0].wait.limited;
  };
  CHECK(is_limited());
  SECTION("the loop has none") {
    wait.limited = false;
  }
  SECTION("it rings later") {
    wait.limit_ms = 60'000;
  }
  SECTION("it is another task's, which brings no message") {
    job.task(process, {"other", at_event(), "<Future>"});
    process.tasks.front().stack = process.tasks.back().stack;
    CHECK(is_limited());
    process.tasks.front().at_socket = true;
  }
  CHECK_FALSE(is_limited());
}

TEST_CASE("tasks: a chain without an end, as only a damaged capture has it") {
  std::vector<TaskSpec> tasks;
  for (int i = 0; i < 4000; ++i) {
    tasks.push_back({std::to_string(i), at_task_lock("move"), std::to_string(i + 1)});
  }
  CHECK(!is_circle(tasks));
  tasks.back().awaits = "0";
  CHECK(!is_circle(tasks));  // longer than what is followed
}

}  // namespace oddrank::aggregate
