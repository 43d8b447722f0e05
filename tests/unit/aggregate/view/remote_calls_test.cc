// A driver of Ray and its actors: who owes the driver its answer.
#include "aggregate/view/remote_calls.h"

#include <string>

#include "aggregate/diagnose.h"
#include "aggregate/diagnosis.h"
#include "aggregate/view/coroutines.h"
#include "tests/support/catch.h"
#include "tests/support/hung_jobs.h"

namespace oddrank::aggregate {
namespace {

using snapshot::Capture;
using tests::CaptureBuilder;
using tests::Frames;
using tests::py;
using tests::ThreadSpec;

constexpr std::string_view kWorker = "/v/site-packages/ray/_private/worker.py";
constexpr std::string_view kLocks = "/usr/lib/python3.11/asyncio/locks.py";
const tests::FrameSpec kServes =
    py("_resume_span", "/v/site-packages/ray/util/tracing/tracing_helper.py", 520);
constexpr std::size_t kDriver = 2;
constexpr std::size_t kActor = 4;

ThreadSpec waiting(const Frames& frames) {
  ThreadSpec spec = tests::sleeping();
  spec.wait = {};
  spec.wait.how = snapshot::WaitHow::kFiles;
  spec.wait.syscall = "epoll_wait";
  spec.frames = frames;
  return spec;
}

// A driver that waits in ray.get(), and seven idle actors: each has its number as its id.
CaptureBuilder driver_and_actors() {
  CaptureBuilder job = tests::eight_ranks(waiting({py("Worker.main_loop", kWorker, 9)}));
  tests::replace(job, kDriver, waiting({py("Worker.get_objects", kWorker, 8)}));
  for (snapshot::ProcessCapture& process : job.capture.processes) {
    if (process.rank != static_cast<int>(kDriver)) {
      process.actor = job.capture.tables.string(std::to_string(process.rank));
    }
  }
  return job;
}

snapshot::ProcessCapture& process_of(CaptureBuilder& job, std::size_t rank) {
  return *std::ranges::find(job.capture.processes, static_cast<int>(rank),
                            &snapshot::ProcessCapture::rank);
}

void ask(CaptureBuilder& job, std::string_view actor) {
  snapshot::AskedObjects& asked = process_of(job, kDriver).threads.front().wait.rare.edit().asked;
  asked.known = true;
  asked.actors.push_back(job.capture.tables.string(actor));
}

// The actor runs a method on its main thread.
void work(CaptureBuilder& job, std::size_t rank) {
  const snapshot::StringId actor = process_of(job, rank).actor;
  tests::replace(
      job, static_cast<int>(rank),
      waiting({py("load", "/home/ada/demo/load.py", 3), py("Worker.main_loop", kWorker, 9)}));
  process_of(job, rank).actor = actor;
}

snapshot::ResourceRequest request_of(CaptureBuilder& job, std::string_view shape) {
  snapshot::ResourceRequest request;
  request.shape = job.capture.tables.string(shape);
  request.lacks = job.capture.tables.string("GPU");
  request.asked = 4000;
  request.pending_ms = 60'000;
  return request;
}

struct Viewed {
  explicit Viewed(CaptureBuilder job)
      : capture(job.take()), model(capture.tables), view(capture, model) {}
  const RankView& rank(std::size_t at) const { return view.ranks()[at]; }
  Capture capture;
  FrameModel model;
  JobView view;
};

// The actor's event loop rests, and these tasks wait.
void add_tasks(CaptureBuilder& job, const std::vector<tests::TaskSpec>& tasks) {
  ThreadSpec loop = waiting(
      {tests::native("uv_run", "loop.so"), py("run", "/usr/lib/python3.11/threading.py", 9)});
  loop.python_name = "AsyncIO Thread: default";
  job.thread(process_of(job, kActor), loop);
  for (const tests::TaskSpec& task : tasks) {
    job.task(process_of(job, kActor), task);
  }
}

const tests::TaskSpec kHasLock = {
    "Task-1",
    {py("Event.wait", kLocks, 213), py("Store.take", "/job/store.py", 27), kServes},
    "<Future>",
    {}};
const tests::TaskSpec kWantsLock = {
    "Task-2",
    {py("Lock.acquire", kLocks, 114), py("Store.fill", "/job/store.py", 33), kServes},
    "Task-1",
    {}};

}  // namespace

TEST_CASE("of two actors that run a method, the one that was asked owes the answer") {
  CaptureBuilder job = driver_and_actors();
  work(job, 3);
  work(job, kActor);
  ask(job, std::to_string(kActor));
  const Viewed seen(std::move(job));
  CHECK(seen.rank(kDriver).servers == SlimVector<std::size_t>{kActor});
}

TEST_CASE("an actor that was asked and has no process may be one that is still being made") {
  CaptureBuilder job = driver_and_actors();
  work(job, kActor);
  process_of(job, kActor).actor = {};
  ask(job, "99");
  const Viewed seen(std::move(job));
  CHECK(seen.rank(kDriver).servers == SlimVector<std::size_t>{kActor});
}

TEST_CASE("an actor without a process waits for resources that nobody has") {
  CaptureBuilder job = driver_and_actors();
  ask(job, "99");
  job.capture.collectives.requests.push_back(request_of(job, "{'GPU': 4.0}"));
  const Viewed seen(std::move(job));
  CHECK(seen.rank(kDriver).lacks_resources());
  const Verdict verdict = diagnose(seen.view).verdict;
  CHECK(verdict.kind == Kind::kExternalWait);
  CHECK(verdict.confidence == Confidence::kLikely);
  CHECK(verdict.summary.find("4 GPU asked for, 0 of 0 free") != std::string::npos);
}

TEST_CASE("resources that an actor at work has come when it has done its work") {
  CaptureBuilder job = driver_and_actors();
  work(job, kActor);
  ask(job, "99");
  auto request = request_of(job, "{'GPU': 4.0}");
  request.total = 8000;
  request.holders = {process_of(job, kActor).pid};
  request.node = process_of(job, kActor).node;
  job.capture.collectives.requests.push_back(request);
  const Viewed seen(std::move(job));
  CHECK_FALSE(seen.rank(kDriver).lacks_resources());
  CHECK(seen.rank(kDriver).servers == SlimVector<std::size_t>{kActor});
}

TEST_CASE("nobody lacks resources while somebody at work may have them") {
  CaptureBuilder job = driver_and_actors();
  work(job, kActor);
  ask(job, "99");
  auto request = request_of(job, "{'GPU': 4.0}");
  request.total = 8000;
  job.capture.collectives.requests.push_back(request);
  const Viewed seen(std::move(job));
  CHECK_FALSE(seen.rank(kDriver).lacks_resources());
  CHECK(seen.rank(kDriver).servers.empty());
}

TEST_CASE("who waits for an actor that lives waits for no resources") {
  CaptureBuilder job = driver_and_actors();
  ask(job, std::to_string(kActor));
  job.capture.collectives.requests.push_back(request_of(job, "{'GPU': 4.0}"));
  const Viewed seen(std::move(job));
  CHECK_FALSE(seen.rank(kDriver).lacks_resources());
}

TEST_CASE("nobody is named for an answer that no process is known to owe") {
  ThreadSpec asks = tests::at_python_lock();
  asks.frames = {py("Worker.get_objects", kWorker, 8), py("evaluate", "/home/ada/demo/load.py", 9),
                 py("Worker.main_loop", kWorker, 9)};
  for (const bool itself : {false, true}) {
    CaptureBuilder job = driver_and_actors();
    const snapshot::StringId actor = process_of(job, kActor).actor;
    tests::replace(job, static_cast<int>(kActor), asks);
    process_of(job, kActor).actor = actor;
    ask(job, std::to_string(kActor));
    auto& asked = process_of(job, kActor).threads.front().wait.rare.edit().asked;
    asked.known = asked.tasks = true;
    if (itself) {
      asked.actors.push_back(actor);
    }
    const Viewed seen(std::move(job));
    CHECK(seen.rank(kDriver).servers == SlimVector<std::size_t>{kActor});
    const Verdict verdict = diagnose(seen.view).verdict;
    CHECK((verdict.kind == Kind::kUnknown) != itself);
    CHECK(verdict.culprits.size() == (itself ? 1 : 0));
  }
}

TEST_CASE("a coroutine that waits for another one's lock speaks for its actor") {
  CaptureBuilder job = driver_and_actors();
  ask(job, std::to_string(kActor));
  add_tasks(job, {kHasLock, kWantsLock});
  const Viewed seen(std::move(job));
  REQUIRE(seen.rank(kActor).speaks_by_coroutine());
  CHECK(seen.rank(kActor).coroutine->inside);
  CHECK(seen.rank(kActor).coroutine->way.tasks.size() == 2);
  const Verdict verdict = diagnose(seen.view).verdict;
  CHECK(verdict.kind == Kind::kStuckRank);
  REQUIRE(verdict.culprits.size() == 1);
  CHECK(verdict.culprits.front().rank == static_cast<int>(kActor));
  CHECK(verdict.summary.find("Store.fill (job/store.py:33), which waits in Lock.acquire for "
                             "Store.take (job/store.py:27), which waits in Event.wait") !=
        std::string::npos);
}

TEST_CASE("a coroutine whose actor may go on by itself does not speak for it") {
  const tests::TaskSpec sleeps = {
      "Task-3", {py("sleep", "/usr/lib/python3.11/asyncio/tasks.py", 649)}, "<Future>", {}};
  CaptureBuilder job = driver_and_actors();
  ask(job, std::to_string(kActor));
  add_tasks(job, {kHasLock, sleeps});
  CHECK_FALSE(Viewed(std::move(job)).rank(kActor).speaks_by_coroutine());
}

TEST_CASE("a coroutine that waits for what a caller brings is not at fault while one is at work") {
  CaptureBuilder job = driver_and_actors();
  ask(job, std::to_string(kActor));
  add_tasks(job, {kHasLock});
  work(job, 3);
  const Viewed seen(std::move(job));
  CHECK(seen.rank(kDriver).servers == SlimVector<std::size_t>{kActor});
  CHECK(seen.rank(kActor).servers == SlimVector<std::size_t>{3});
}

TEST_CASE("a coroutine that awaits the answer of an actor waits for that actor") {
  const tests::TaskSpec awaits = {
      "Task-1", {py("Relay.step", "/job/relay.py", 9), kServes}, "<Future>", {}};
  for (const bool known : {false, true}) {
    CaptureBuilder job = driver_and_actors();
    ask(job, std::to_string(kActor));
    work(job, 3);
    work(job, 5);
    add_tasks(job, {awaits});
    snapshot::AskedObjects& asked = process_of(job, kActor).tasks.back().asked;
    asked.known = known;
    if (known) {
      asked.actors.push_back(job.capture.tables.string("5"));
    }
    const Viewed seen(std::move(job));
    CHECK(seen.rank(kActor).servers ==
          (known ? SlimVector<std::size_t>{5} : SlimVector<std::size_t>()));
  }
}

TEST_CASE("an idle worker whose loop runs for a moment is not at work") {
  CaptureBuilder job = driver_and_actors();
  ask(job, std::to_string(kActor));
  add_tasks(job, {kHasLock, kWantsLock});
  ThreadSpec woken = waiting({py("Worker.main_loop", kWorker, 9)});
  woken.state = 'R';
  woken.wait.on = snapshot::WaitOn::kNothing;
  woken.cpu_step_us = 5000;
  tests::replace(job, 3, woken);
  const Viewed seen(std::move(job));
  CHECK(diagnose(seen.view).verdict.kind == Kind::kStuckRank);
}

TEST_CASE("who waits for workers that take turns has moved") {
  const Frames rests = {py("Worker.main_loop", kWorker, 9)};
  const ThreadSpec caller = waiting({py("Worker.get_objects", kWorker, 8)});
  const auto workers = [&] {
    ThreadSpec turns =
        waiting({py("load", "/home/ada/demo/load.py", 3), py("Worker.main_loop", kWorker, 9)});
    turns.earlier = rests;
    CaptureBuilder job = tests::eight_ranks(turns);
    tests::replace(job, kDriver, caller);
    return job;
  };
  CHECK(Viewed(workers()).rank(kDriver).motion.moved());

  CaptureBuilder stands = workers();
  tests::replace(stands, kActor, waiting(rests));
  CHECK_FALSE(Viewed(std::move(stands)).rank(kDriver).motion.moved());

  // Which of two callers has got or asked for something is known only by who has started whom.
  CaptureBuilder two = workers();
  tests::replace(two, kActor, caller);
  CHECK_FALSE(Viewed(std::move(two)).rank(kDriver).motion.moved());
  CaptureBuilder family = workers();
  tests::replace(family, kActor, caller);
  const pid_t driver = process_of(family, kDriver).pid;
  for (snapshot::ProcessCapture& process : family.capture.processes) {
    process.parent = process.pid == driver ? 1 : driver;
    process.node = 0;
  }
  const Viewed seen(std::move(family));
  CHECK(seen.rank(kDriver).motion.moved());
  CHECK_FALSE(seen.rank(kActor).motion.moved());
}

TEST_CASE("an actor that has ended is missing to nobody") {
  CaptureBuilder job = driver_and_actors();
  for (snapshot::ProcessCapture& process : job.capture.processes) {
    process.role = snapshot::JobRole::kActor;
    process.rank = process.world_size = -1;
  }
  job.capture.job.world_size = -1;
  for (snapshot::NodeCapture& node : job.capture.nodes) {
    node.expected_ranks.clear();
  }
  job.capture.processes.back().state = 'Z';
  const Viewed seen(std::move(job));
  CHECK(diagnose(seen.view).verdict.kind == Kind::kUnknown);
}

}  // namespace oddrank::aggregate
