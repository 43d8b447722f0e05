// Which thread waits for the GIL, and which thread has it.
#include "waits/python/gil_wait.h"

#include <string>

#include "snapshot/capture.h"
#include "tests/support/catch.h"
#include "tests/support/sentence_of.h"

namespace oddrank::waits {
namespace {

using snapshot::Wait;
using snapshot::WaitOn;

struct GilScene {
  snapshot::Capture capture;
  snapshot::ProcessCapture process;

  snapshot::ThreadCapture& add(pid_t tid, const std::string& innermost) {
    snapshot::Frame frame;
    frame.function = capture.tables.string(innermost);
    snapshot::Stack stack;
    stack.frames = {capture.tables.frame(frame)};
    snapshot::ThreadCapture& thread = process.threads.emplace_back();
    thread.tid = tid;
    thread.samples.emplace_back().stack = capture.tables.stack(stack);
    return thread;
  }
  Wait name(std::size_t thread, WaitOn on) {
    Wait wait;
    wait.on = on;
    name_gil_wait(process, process.threads[thread], capture.tables, wait);
    return wait;
  }
  std::string says(std::size_t thread, const Wait& wait) const {
    snapshot::ThreadCapture waiter = process.threads[thread];
    waiter.wait = wait;
    return tests::sentence_of(capture, process, waiter);
  }
};

GilScene two_gils() {
  GilScene scene;
  scene.process.pid = 50;
  auto& main = scene.add(50, "read");
  main.holds_gil = true;
  auto& other = scene.add(51, "spin");
  other.holds_gil = true;
  other.gil = 3;
  auto& waiter = scene.add(52, "futex");
  waiter.wants_gil = true;
  waiter.gil = 3;
  scene.add(53, "take_gil");
  return scene;
}

TEST_CASE("a lock inside a GIL is that GIL, and has its holder") {
  GilScene scene = two_gils();
  const Wait wait = scene.name(2, WaitOn::kLock);
  CHECK(wait.on == WaitOn::kGil);
  CHECK(wait.holder_pid == 50);
  CHECK(wait.holder_tid == 51);
  CHECK(scene.says(2, wait) == "waits for the GIL of interpreter 3, held by thread 51");
  // It wakes up every few milliseconds to try again.
  CHECK(scene.name(2, WaitOn::kNothing).on == WaitOn::kGil);
  // A wait for something else is not a wait for the GIL.
  CHECK(scene.name(2, WaitOn::kPipe).on == WaitOn::kPipe);
}

TEST_CASE("frames show that it is a GIL, not which one") {
  GilScene scene = two_gils();
  const Wait either = scene.name(3, WaitOn::kLock);
  CHECK(either.on == WaitOn::kGil);
  CHECK(either.holder_tid == 0);
  scene.process.threads.erase(scene.process.threads.begin() + 1, scene.process.threads.begin() + 3);
  const Wait only = scene.name(1, WaitOn::kLock);
  CHECK(only.holder_tid == 50);
  CHECK(scene.says(1, only) == "waits for Python's GIL, held by thread 50");
}

TEST_CASE("the owner of the lock inside a GIL does not hold the GIL") {
  GilScene scene = two_gils();
  scene.process.threads[1].holds_gil = false;
  Wait wait;
  wait.on = WaitOn::kLock;
  wait.how = snapshot::WaitHow::kLock;
  wait.limited = true;
  wait.lock.owner = snapshot::LockOwner::kThread;
  wait.holder_pid = 50;
  wait.holder_tid = 53;
  name_gil_wait(scene.process, scene.process.threads[2], scene.capture.tables, wait);
  CHECK(wait.how == snapshot::WaitHow::kGil);
  CHECK(scene.says(2, wait) == "waits for the GIL of interpreter 3");
}

TEST_CASE("a lock is a lock if neither the runtime nor the frames show more") {
  GilScene scene = two_gils();
  CHECK(scene.name(0, WaitOn::kLock).on == WaitOn::kLock);
}

}  // namespace
}  // namespace oddrank::waits
