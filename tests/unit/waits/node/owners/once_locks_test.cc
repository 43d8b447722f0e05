#include "waits/node/owners/once_locks.h"

#include <initializer_list>
#include <string>
#include <string_view>

#include "snapshot/capture.h"
#include "tests/support/catch.h"
#include "tests/support/sentence_of.h"
#include "waits/native_lock.h"

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

using snapshot::Known;

// "malloc": of libc; "train/step": step of the program.
struct AllocatorScene {
  snapshot::Capture capture;
  snapshot::Tables& tables = capture.tables;
  snapshot::ProcessCapture process;

  AllocatorScene() { process.pid = 100; }

  snapshot::ThreadCapture& add(pid_t tid,
                               std::initializer_list<std::string_view> functions,
                               snapshot::StackEnd end = snapshot::StackEnd::kComplete) {
    snapshot::Stack stack;
    stack.end = end;
    for (const std::string_view function : functions) {
      const bool own = function.starts_with("train/");
      snapshot::Frame frame;
      frame.function = tables.string(function);
      frame.file = tables.string(own ? "/job/train" : "/lib/libc.so.6");
      stack.frames.push_back(tables.frame(frame));
    }
    snapshot::ThreadCapture& thread = process.threads.emplace_back();
    thread.tid = tid;
    thread.samples.emplace_back().stack = tables.stack(stack);
    return thread;
  }

  void add_waiter(pid_t tid, std::initializer_list<std::string_view> functions) {
    snapshot::ThreadCapture& thread = add(tid, functions);
    thread.wait.on = snapshot::WaitOn::kLock;
    thread.wait.address = 0x7000;
    thread.wait.how = snapshot::WaitHow::kLock;
  }

  // Returns the first thread's wait after the join.
  snapshot::Wait wait() {
    snapshot::Wait wait = process.threads.front().wait;
    name_native_lock(process.threads.front(), tables, wait);
    name_allocator_owner(process, tables, wait);
    return wait;
  }

  std::string says(const snapshot::Wait& wait) const {
    snapshot::ThreadCapture thread = process.threads.front();
    thread.wait = wait;
    return tests::sentence_of(capture, process, thread);
  }
};

void check_nobody(AllocatorScene& scene) {
  const snapshot::Wait wait = scene.wait();
  CHECK(wait.holder_pid == 0);
  CHECK(wait.holder_tid == 0);
  CHECK(wait.holder_alive == Known::kUnknown);
  CHECK_FALSE(wait.inferred);
}

TEST_CASE("the only thread within the allocator has its lock") {
  AllocatorScene scene;
  scene.add_waiter(100, {"__lll_lock_wait_private", "__libc_malloc", "train/step"});
  scene.add_waiter(101, {"__lll_lock_wait_private", "__GI___libc_calloc", "train/load"});
  scene.add(102, {"pause", "train/on_signal", "__restore_rt", "", "malloc", "train/load"});
  scene.add(103, {"poll", "train/serve"});
  const snapshot::Wait wait = scene.wait();
  CHECK(wait.holder_pid == 100);
  CHECK(wait.holder_tid == 102);
  CHECK(wait.holder_alive == Known::kYes);
  CHECK(wait.inferred);
  CHECK(scene.says(wait) == "lock; in malloc(): the allocator's lock, which only thread 102 is in");
}

TEST_CASE("a handler that wants memory waits for the thread that it interrupted") {
  AllocatorScene scene;
  scene.add_waiter(100, {"__lll_lock_wait_private", "malloc", "train/on_signal", "__restore_rt", "",
                         "free", "train/step"});
  scene.add(101, {"poll", "train/serve"});
  CHECK(scene.wait().holder_tid == 100);
  CHECK(scene.says(scene.wait()) ==
        "lock; in malloc(): the allocator's lock, which this thread itself was in when a signal "
        "came");
}

TEST_CASE("the allocator's lock has no known holder if several threads may have it, or none") {
  AllocatorScene two;
  two.add_waiter(100, {"__lll_lock_wait_private", "malloc", "train/step"});
  two.add(101, {"", "malloc", "train/load"});
  two.add(102, {"", "realloc", "train/load"});
  check_nobody(two);

  AllocatorScene none;
  none.add_waiter(100, {"__lll_lock_wait_private", "malloc", "train/step"});
  none.add(101, {"train/malloc", "train/load"});
  check_nobody(none);
}

TEST_CASE("the allocator's lock has no known holder if a stack is not known to its end") {
  AllocatorScene scene;
  scene.add_waiter(100, {"__lll_lock_wait_private", "malloc", "train/step"});
  scene.add(101, {"", "malloc", "train/load"});
  scene.add(102, {"train/callback"}, snapshot::StackEnd::kNoUnwindInfo);
  check_nobody(scene);
  scene.process.threads.back().samples.clear();
  check_nobody(scene);
}

TEST_CASE("other locks are left alone") {
  AllocatorScene scene;
  scene.add_waiter(100, {"__lll_lock_wait", "pthread_mutex_lock", "train/step"});
  scene.add(101, {"", "malloc", "train/load"});
  check_nobody(scene);
}

}  // namespace
}  // namespace oddrank::waits
