#include "waits/node/thread_motion.h"

#include "tests/support/catch.h"
#include "tests/unit/waits/capture_builder.h"

namespace oddrank::waits {
namespace {

using snapshot::WaitOn;

struct MotionScene {
  CaptureBuilder build;
  snapshot::ThreadCapture& thread;

  MotionScene() : thread(first_thread()) {}
  snapshot::ThreadCapture& first_thread() {
    return build.process(build.add(10, 1, {{"poll_it", "/home/ada/job.py", 7}})).threads[0];
  }
  void sample(std::uint64_t cpu_us, std::uint64_t switches, const char* function = "poll_it") {
    snapshot::ThreadSample next;
    next.stack = build.stack({{function, "/home/ada/job.py", 9}});
    next.cpu_us = cpu_us;
    next.voluntary_switches = switches;
    thread.samples.push_back(next);
  }
  std::string words() const { return motion_words(thread, build.capture.tables); }
};

TEST_CASE("CPU used in the same functions may be a spin, else it is work") {
  MotionScene scene;
  scene.thread.wait.on = WaitOn::kNothing;
  scene.sample(480'000, 0);
  CHECK(scene.words() ==
        "used 480 ms of CPU in the same functions: it spins, or works at one place");
  scene.sample(490'000, 0, "compute");
  CHECK(scene.words() == "used 490 ms of CPU, its stack moved: it works");
}

TEST_CASE("sleeping and waking by turns is a poll") {
  MotionScene scene;
  scene.sample(10'000, 9);
  CHECK(scene.words() == "woke 9 times in the same functions: it polls");
}

TEST_CASE("a thread that is preempted again and again spins, though it gets no CPU") {
  MotionScene scene;
  scene.thread.wait.on = WaitOn::kNothing;
  scene.sample(20'000, 0);
  scene.thread.samples.edit_back().involuntary_switches = 4000;
  CHECK(scene.words() ==
        "was put aside 4000 times in the same functions: it spins, while others want the CPU");
  scene.sample(30'000, 0, "compute");
  scene.thread.samples.edit_back().involuntary_switches = 8000;
  CHECK(scene.words().empty());
}

TEST_CASE("a thread that sleeps more often than it is put aside polls") {
  MotionScene scene;
  scene.sample(20'000, 900);
  scene.thread.samples.edit_back().involuntary_switches = 291;
  CHECK(scene.words() == "woke 900 times in the same functions: it polls");
}

TEST_CASE("a thread that stands still, or whose wait is known, or that was seen once") {
  MotionScene scene;
  CHECK(scene.words().empty());
  scene.sample(0, 1);
  CHECK(scene.words().empty());
  scene.sample(900'000, 100);
  scene.thread.wait.on = WaitOn::kLock;
  CHECK(scene.words().empty());
}

TEST_CASE("stacks that were not read do not show the place") {
  MotionScene scene;
  scene.thread.wait.on = WaitOn::kNothing;
  scene.sample(480'000, 20);
  for (auto& sample : scene.thread.samples.stored()) {
    sample.stack = {};
  }
  CHECK(scene.words() == "used 480 ms of CPU");
}

TEST_CASE("counters that went backwards are no motion") {
  MotionScene scene;
  scene.thread.samples.edit(0).cpu_us = 900'000;
  scene.thread.samples.edit(0).voluntary_switches = 50;
  scene.sample(0, 0);
  CHECK(scene.words().empty());
}

using std::chrono::milliseconds;

snapshot::ProcessCapture with_thread(char state, bool stopped) {
  snapshot::ProcessCapture process;
  snapshot::ThreadCapture& thread = process.threads.emplace_back();
  thread.tid = 7;
  thread.samples.emplace_back().state = state;
  thread.samples.edit_back().stopped = stopped;
  thread.wait.quiet_ms = 3;  // since it was let go
  return process;
}

std::int64_t kept(const QuietTimes& before, char state, bool stopped) {
  snapshot::ProcessCapture process = with_thread(state, stopped);
  keep_quiet_times(before, process);
  return process.threads.front().wait.quiet_ms;
}

TEST_CASE("a sleep that our stop interrupted keeps its length") {
  const QuietTimes before = {{7, milliseconds(60000)}};
  CHECK(kept(before, 'S', true) == 60000);
  CHECK(kept(before, 'S', false) == 3);
  CHECK(kept({}, 'S', true) == -1);     // not known, rather than short
  CHECK(kept(before, 'R', true) == 3);  // runs: nothing to restore
}

TEST_CASE("a thread without samples is left alone") {
  snapshot::ProcessCapture process;
  process.threads.emplace_back().tid = 7;
  keep_quiet_times({{7, milliseconds(60000)}}, process);
  CHECK(process.threads.front().wait.quiet_ms == -1);
}

}  // namespace
}  // namespace oddrank::waits
