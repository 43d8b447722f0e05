#include "aggregate/view/decider.h"

#include "tests/support/catch.h"
#include "tests/support/hung_jobs.h"

namespace oddrank::aggregate {

using snapshot::WaitOn;
using tests::CaptureBuilder;
using tests::ThreadSpec;

namespace {

pid_t decider_of(const ThreadSpec& main, const ThreadSpec& other) {
  CaptureBuilder job({"n0"}, 1);
  auto& process = job.rank(0, "n0", 10);
  job.thread(process, main);
  job.thread(process, other);
  FrameModel model(job.capture.tables);
  return find_decider(process, model)->tid;
}

Motion motion_of(const ThreadSpec& spec, std::size_t samples = 2) {
  CaptureBuilder job({"n0"}, 1);
  job.samples = samples;
  const auto& thread = job.thread(job.rank(0, "n0", 10), spec);
  FrameModel model(job.capture.tables);
  return measure_motion(thread, model);
}

TEST_CASE("a library that polls inside of a call does not move") {
  const auto in = [](std::string_view function, std::uint32_t line) {
    return tests::Frames{tests::native(function, "/v/nvidia/nccl/lib/libnccl.so.2"),
                         tests::native("pncclAllReduce", "/v/nvidia/nccl/lib/libnccl.so.2"),
                         tests::py("all_reduce", "/v/torch/distributed/distributed_c10d.py", 3068),
                         tests::py("train", "/home/u/train.py", line)};
  };
  ThreadSpec spec = tests::in_all_reduce();
  spec.frames = in("socketProgress", 88);
  spec.earlier = in("ncclTransportP2pSetup", 88);
  CHECK_FALSE(motion_of(spec).stack);
  spec.earlier = in("ncclTransportP2pSetup", 90);
  CHECK(motion_of(spec).stack);
  spec.earlier = in("ncclTransportP2pSetup", 88);
  spec.call.reset();
  CHECK(motion_of(spec).stack);  // what it does there is not known
  spec.wait.on = snapshot::WaitOn::kDevice;
  CHECK_FALSE(motion_of(spec).stack);
}

// Returns the motion of a thread of which the last sample was read like this.
Motion motion_to(const ThreadSpec& spec, snapshot::StackEnd end, snapshot::MergeState merge) {
  CaptureBuilder job({"n0"}, 1);
  auto& thread = job.thread(job.rank(0, "n0", 10), spec);
  snapshot::Stack stack = job.capture.tables.stack(thread.samples.back().stack);
  stack.end = end;
  stack.merge = merge;
  thread.samples.edit_back().stack = job.capture.tables.stack(stack);
  FrameModel model(job.capture.tables);
  return measure_motion(thread, model);
}

}  // namespace

TEST_CASE("the main thread speaks for the rank") {
  CHECK(decider_of(tests::sleeping(), tests::sleeping()) == 10);
  CHECK(decider_of(tests::in_all_reduce(), tests::in_all_reduce()) == 10);
  CHECK(decider_of(tests::in_loader(3), tests::in_all_reduce()) == 10);
}

TEST_CASE("a thread that runs the collective speaks, if main waits for a thread") {
  ThreadSpec joins = tests::sleeping();
  joins.wait.on = WaitOn::kThread;
  CHECK(decider_of(joins, tests::in_all_reduce()) == 11);
  ThreadSpec background = tests::in_all_reduce();
  background.has_python = false;
  CHECK(decider_of(joins, background) == 10);
  background.frames = {
      tests::native("_ZN5torch8autograd6Engine11thread_mainERKSt10shared_ptrIiE", "libtorch.so")};
  CHECK(decider_of(joins, background) == 11);
}

TEST_CASE("of two threads in calls, the one that main waits for speaks") {
  ThreadSpec main = tests::waiting_on(WaitOn::kLock);
  main.wait.how = snapshot::WaitHow::kObject;
  main.wait.inferred = true;
  CaptureBuilder job({"n0"}, 1);
  auto& process = job.rank(0, "n0", 10);
  for (const ThreadSpec& spec : {main, tests::in_all_reduce(), tests::in_all_reduce()}) {
    job.thread(process, spec);
  }
  FrameModel model(job.capture.tables);
  CHECK(find_decider(process, model)->tid == 11);
  process.threads[0].wait.holder_pid = 10;
  process.threads[0].wait.holder_tid = 12;
  CHECK(find_decider(process, model)->tid == 12);
}

TEST_CASE("a process without threads has no decider") {
  CaptureBuilder job({"n0"}, 1);
  FrameModel model(job.capture.tables);
  CHECK(find_decider(job.rank(0, "n0", 10), model) == nullptr);
}

TEST_CASE("one sample measures nothing") {
  CHECK_FALSE(motion_of(tests::training_on(), 1).measured);
  CHECK_FALSE(motion_of(tests::sleeping(), 1).still());
}

TEST_CASE("a thread that changed its place moved") {
  const Motion motion = motion_of(tests::training_on());
  CHECK(motion.stack);
  CHECK_FALSE(motion.still());
}

TEST_CASE("a stack that was read less completely than before is no motion") {
  ThreadSpec waits = tests::sleeping();
  waits.frames = {tests::py("load", "/home/u/train.py", 7),
                  tests::py("main", "/home/u/train.py", 9)};
  waits.earlier = tests::Frames{tests::native("read", "/lib/ext.so")} + waits.frames;
  using snapshot::MergeState;
  using snapshot::StackEnd;
  CHECK_FALSE(motion_to(waits, StackEnd::kRunning, MergeState::kPythonOnly).stack);
  CHECK(motion_to(waits, StackEnd::kComplete, MergeState::kMerged).stack);
  waits.frames.front() = tests::py("load", "/home/u/train.py", 8);
  CHECK(motion_to(waits, StackEnd::kRunning, MergeState::kPythonOnly).stack);
  CHECK(motion_to(waits, StackEnd::kTorn, MergeState::kMerged).stack);
  CHECK_FALSE(motion_to(waits, StackEnd::kRunningTorn, MergeState::kPythonOnly).stack);
}

TEST_CASE("a thread that sleeps is still, one that computes is not") {
  CHECK(motion_of(tests::sleeping()).still());
  CHECK(motion_of(tests::computing()).cpu);
}

TEST_CASE("a rank that was seen to come to where it has stood for long does not move") {
  const auto moves = [](std::int64_t quiet_ms, std::size_t still_samples, char state) {
    CaptureBuilder job({"n0"}, 1);
    job.samples = 5;
    ThreadSpec spec = tests::in_all_reduce();
    spec.earlier = tests::sleeping().frames;
    spec.state = state;
    auto& thread = job.thread(job.rank(0, "n0", 10), spec);
    thread.wait.quiet_ms = quiet_ms;
    for (std::size_t at = 0; at < thread.samples.size(); ++at) {
      auto& sample = thread.samples.edit(at);
      const bool ran = at + still_samples < thread.samples.size();
      sample.voluntary_switches = ran ? at : thread.samples.size();
      sample.stack = ran ? thread.samples.front().stack : thread.samples.back().stack;
    }
    FrameModel model(job.capture.tables);
    return !JobView(job.capture, model).ranks()[0].motion.still();
  };
  CHECK_FALSE(moves(7000, 4, 'S'));
  CHECK_FALSE(moves(5000, 2, 'S'));
  CHECK(moves(5000, 1, 'S'));  // one sample shows no motion, nor that there is none
  CHECK(moves(4999, 4, 'S'));
  CHECK(moves(-1, 4, 'S'));
  CHECK(moves(7000, 4, 'R'));
}

TEST_CASE("spinning in a collective is waiting") {
  ThreadSpec spins = tests::in_all_reduce();
  spins.state = 'R';
  spins.cpu_step_us = 500'000;
  CHECK(motion_of(spins).still());
}

TEST_CASE("waking up in a collective again and again is not waiting") {
  ThreadSpec steps = tests::in_all_reduce();
  steps.cpu_step_us = 50'000;
  steps.switch_step = 40;
  CHECK(motion_of(steps).woke);
  steps.cpu_step_us = 0;  // a poll without work
  CHECK(motion_of(steps).still());
}

TEST_CASE("a receive without a time limit that ends again and again is not one wait") {
  ThreadSpec receives = tests::waiting_on(WaitOn::kSocket, "socket:[9]");
  receives.wait.syscall = "recvfrom";
  receives.switch_step = 3;
  CHECK(motion_of(receives).woke);
  SECTION("its time limit may have ended it") {
    receives.wait.limited = true;
  }
  SECTION("so may a file of its own process") {
    receives.wait.syscall = "epoll_wait";
  }
  SECTION("reading it wakes it once") {
    receives.switch_step = 1;
  }
  SECTION("it sends") {
    receives.wait.syscall = "sendto";
  }
  CHECK_FALSE(motion_of(receives).woke);
}

TEST_CASE("polling a store is waiting") {
  ThreadSpec polls = tests::in_store();
  polls.cpu_step_us = 2'000;
  polls.switch_step = 50;
  CHECK(motion_of(polls).still());
}

TEST_CASE("a thread for which the coroutine of an idle main thread waits speaks for the rank") {
  CaptureBuilder job({"n0"}, 1);
  auto& process = job.rank(0, "n0", 10);
  const auto idle = tests::Frames{
      tests::py("EpollIOManager.get_events", "/v/site-packages/trio/_core/_io_epoll.py", 243),
      tests::py("<module>", "/home/u/serve.py", 9)};
  ThreadSpec loop = tests::waiting_on(WaitOn::kSocket);
  loop.frames = idle;
  const pid_t main = job.thread(process, loop).tid;
  ThreadSpec worker = tests::waiting_on(WaitOn::kFile);
  worker.frames = {
      tests::py("WorkerThread._work", "/v/site-packages/trio/_core/_thread_cache.py", 165)};
  job.thread(process, worker).tid = 11;
  const auto decider = [&process, &job] {
    FrameModel model(job.capture.tables);
    return find_decider(process, model)->tid;
  };
  CHECK(decider() == main);
  snapshot::AsyncTask& task = process.tasks.emplace_back();
  task.state = snapshot::TaskState::kWaits;
  task.worker = 11;
  SECTION("the last of those for which the main thread waits") {
    task.tid = main;
  }
  SECTION("any other") {}
  CHECK(decider() == 11);
}

TEST_CASE("a thread in a call speaks for a rank whose event loop its own process wakes") {
  CaptureBuilder job({"n0"}, 1);
  ThreadSpec loop = tests::waiting_on(snapshot::WaitOn::kSocket);
  loop.wait.how = snapshot::WaitHow::kFiles;
  auto& process = job.rank(0, "n0", 10);
  job.thread(process, loop);
  ThreadSpec worker = tests::in_all_reduce();
  worker.python_name = "Trio thread 0";
  job.thread(process, worker).tid = 11;
  auto& wait = process.threads.front().wait;
  snapshot::AwaitedFile& file = wait.rare.edit().awaited.emplace_back();
  wait.rare.edit().awaited_count = 1;
  const auto decider = [&job] {
    FrameModel model(job.capture.tables);
    return JobView(job.capture, model).ranks()[0].decider->tid;
  };
  SECTION("by a counter") {
    wait.rare.edit().own_wakers = true;
    CHECK(decider() == 11);
  }
  SECTION("by a pipe or a pair of sockets") {
    file.holder_pid = 10;
    CHECK(decider() == 11);
  }
  SECTION("by the only file that it waits for") {
    wait.holder_pid = 10;
    CHECK(decider() == 11);
  }
  SECTION("not if others make its files ready") {
    file.holder_pid = 20;
    CHECK(decider() == 10);
  }
}

}  // namespace oddrank::aggregate
