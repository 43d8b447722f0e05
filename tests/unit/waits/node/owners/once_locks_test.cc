#include "waits/node/owners/once_locks.h"

#include <initializer_list>
#include <string>
#include <string_view>

#include "snapshot/capture.h"
#include "tests/support/catch.h"
#include "tests/support/sentence_of.h"

namespace oddrank::waits {
namespace {

using snapshot::WaitOn;

// "load:12": function load of the program, at line 12 of its stack.
struct OnceScene {
  snapshot::Capture capture;
  snapshot::ProcessCapture process;

  OnceScene() { process.pid = 100; }

  void add(pid_t tid,
           WaitOn on,
           std::initializer_list<std::string_view> functions,
           snapshot::StackEnd end = snapshot::StackEnd::kComplete) {
    snapshot::Stack stack;
    stack.end = end;
    for (const std::string_view function : functions) {
      snapshot::Frame frame;
      frame.function = capture.tables.string(function);
      frame.file = capture.tables.string("/job/train");
      frame.offset = stack.frames.size();  // each frame is at a place of its own
      stack.frames.push_back(capture.tables.frame(frame));
    }
    snapshot::ThreadCapture& thread = process.threads.emplace_back();
    thread.tid = tid;
    thread.samples.emplace_back().stack = capture.tables.stack(stack);
    thread.wait.on = on;
  }

  // Returns the holder of what the first thread waits for.
  pid_t holder() {
    snapshot::Wait& wait = process.threads.front().wait;
    name_initialiser(process, process.threads.front(), capture.tables, wait);
    CHECK(wait.inferred == (wait.holder_tid != 0));
    return wait.holder_tid;
  }
  std::string says() const { return tests::sentence_of(capture, process, process.threads.front()); }
};

TEST_CASE("a static variable's first call is that of its function, in whichever thread") {
  OnceScene scene;
  scene.add(100, WaitOn::kLock, {"syscall", "__cxa_guard_acquire", "b", "A", "a", "main"});
  scene.add(101, WaitOn::kLock, {"syscall", "__cxa_guard_acquire", "a", "B", "b", "start"});
  scene.add(102, WaitOn::kLock, {"syscall", "__cxa_guard_acquire", "b", "other", "start"});
  CHECK(scene.holder() == 101);
  CHECK(scene.says().find("first call (pthread_once, or a static variable) that thread 101 has "
                          "begun") != std::string::npos);
}

TEST_CASE("a first call may be the thread's own, further out") {
  OnceScene scene;
  scene.add(100, WaitOn::kLock,
            {"__pthread_once_slow", "lambda", "__pthread_once_slow", "once", "main"});
  CHECK(scene.holder() == 100);
  CHECK(scene.says().find("that this thread itself has begun") != std::string::npos);
  OnceScene cut;  // what it shows itself counts for more than what another stack may hide
  cut.add(100, WaitOn::kLock,
          {"__pthread_once_slow", "lambda", "__pthread_once_slow", "once", "main"});
  cut.add(101, WaitOn::kNothing, {"read"}, snapshot::StackEnd::kNoUnwindInfo);
  CHECK(cut.holder() == 100);
}

TEST_CASE("of several first calls none is taken, nor one if a stack is cut") {
  OnceScene two;
  two.add(100, WaitOn::kLock, {"__pthread_once_slow", "lambda", "pthread_once", "once", "main"});
  two.add(101, WaitOn::kNothing, {"read", "init", "pthread_once", "load"});
  CHECK(two.holder() == 0);
  OnceScene cut;
  cut.add(100, WaitOn::kLock, {"__pthread_once_slow", "once", "main"});
  cut.add(101, WaitOn::kNothing, {"read", "init", "pthread_once", "load"});
  cut.add(102, WaitOn::kNothing, {"read"}, snapshot::StackEnd::kNoUnwindInfo);
  CHECK(cut.holder() == 0);
  OnceScene whole;
  whole.add(100, WaitOn::kLock, {"__pthread_once_slow", "once", "main"});
  whole.add(101, WaitOn::kNothing, {"read", "init", "pthread_once", "load"});
  CHECK(whole.holder() == 101);
}

TEST_CASE("other locks, and functions without a name, are left alone") {
  OnceScene lock;
  lock.add(100, WaitOn::kLock, {"__lll_lock_wait", "pthread_mutex_lock", "step", "init", "x", "y"});
  CHECK(lock.holder() == 0);
  CHECK(lock.process.threads.front().wait.lock.kind == snapshot::LockKind::kUnknown);
  OnceScene nameless;
  nameless.add(100, WaitOn::kLock, {"syscall", "__cxa_guard_acquire", "", "A", "", "main"});
  CHECK(nameless.holder() == 0);
}

}  // namespace
}  // namespace oddrank::waits
