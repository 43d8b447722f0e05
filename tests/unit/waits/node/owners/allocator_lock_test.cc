#include "waits/node/owners/allocator_lock.h"

#include <initializer_list>
#include <string>

#include "snapshot/capture.h"
#include "tests/support/catch.h"
#include "tests/support/sentence_of.h"
#include "waits/native_lock_names.h"

namespace oddrank::waits {
namespace {

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
