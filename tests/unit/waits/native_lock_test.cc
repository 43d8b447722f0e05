// Owners in the memory of glibc's locks, and memory that only looks like one.
#include "waits/native_lock.h"

#include <linux/futex.h>

#include <array>

#include "snapshot/capture.h"
#include "tests/support/catch.h"
#include "tests/support/fake_target.h"
#include "tests/support/machine_code.h"
#include "tests/support/sentence_of.h"
#include "waits/machine/thread_descriptor.h"

namespace oddrank::waits {
namespace {

using attach::Addr;

constexpr std::int32_t kOwner = 50;  // a thread of the target
constexpr std::int32_t kGone = 51;

struct LockScene {
  test::FakeTarget target;

  NativeLock lock(std::uint64_t word, std::uint64_t operation, std::uint64_t expected) {
    attach::SyscallState call;
    call.arguments = {word, operation, expected, 0, 0, 0};
    return read_native_lock(target, call, [](std::int32_t tid) { return tid == kOwner; });
  }
};

constexpr std::uint64_t kWait = FUTEX_WAIT | FUTEX_PRIVATE_FLAG;
constexpr std::uint64_t kTimedWait = 0x189;

TEST_CASE("robust: the word and the structure must agree") {
  LockScene scene;
  const std::uint64_t word = FUTEX_WAITERS | kOwner;
  scene.target.add_object(Addr{0x9000}, std::array<std::uint64_t, 3>{word, kOwner, 16});
  CHECK(scene.lock(0x9000, FUTEX_WAIT, word).kind == LockKind::kRobust);
  CHECK(scene.lock(0x9000, FUTEX_WAIT, word).owner == kOwner);
  // Without the flag it counts only if the owner exists: musl's mutex.
  const std::uint64_t gone = FUTEX_WAITERS | kGone;
  scene.target.add_object(Addr{0xa000}, std::array<std::uint64_t, 3>{gone, kGone, 0});
  CHECK(scene.lock(0xa000, FUTEX_WAIT, gone).kind == LockKind::kUnknown);
}

TEST_CASE("robust: the kernel's mark of a dead owner") {
  LockScene scene;
  const std::uint64_t word = FUTEX_WAITERS | FUTEX_OWNER_DIED | kGone;
  scene.target.add_object(Addr{0x9000}, std::array<std::uint64_t, 3>{word, kGone, 16});
  CHECK(scene.lock(0x9000, FUTEX_WAIT, word).owner_died);
}

TEST_CASE("a wait with a time limit is no mutex of a missing thread") {
  LockScene scene;
  const std::array<std::int32_t, 5> mutex = {2, 0, kGone, 1, 0};
  scene.target.add_object(Addr{0x9000}, mutex);
  CHECK(scene.lock(0x9000, kWait, 2).owner == kGone);
  CHECK(scene.lock(0x9000, kTimedWait, 2).kind == LockKind::kUnknown);
}

TEST_CASE("read-write lock: writer, readers, neither") {
  LockScene scene;
  std::array<std::uint32_t, 8> lock = {1 | 2, 0, 3, 0, 0, 0, kOwner, 0};
  scene.target.add_object(Addr{0x9000}, lock);
  CHECK(scene.lock(0x9008, kTimedWait, 3).kind == LockKind::kWriteLock);
  CHECK(scene.lock(0x9008, kTimedWait, 3).owner == kOwner);
  CHECK(scene.lock(0x900c, kTimedWait, 3).owner == kOwner);
  lock[0] = 1;  // not locked for writing
  scene.target.add_object(Addr{0x9000}, lock);
  CHECK(scene.lock(0x9008, kTimedWait, 3).kind == LockKind::kUnknown);
  lock = {(3U << 3) | 2, 0, 2, 0, 0, 0, 0, 0};
  scene.target.add_object(Addr{0x9000}, lock);
  CHECK(scene.lock(0x9008, kTimedWait, 2).kind == LockKind::kReadLocks);
  CHECK(scene.lock(0x9008, kTimedWait, 2).readers == 3);
}

TEST_CASE("a join counts only if the word is a thread's own") {
  LockScene scene;
  constexpr std::uint64_t kThread = 0x7000;
  const std::uint64_t number = kThread + tid_in_descriptor();
  CHECK(scene.lock(number, kTimedWait, kOwner).kind == LockKind::kUnknown);
  for (const test::MemoryWords& part : test::thread_descriptor(kThread)) {
    scene.target.add_memory(Addr{part.address}, std::as_bytes(std::span(part.words)));
  }
  scene.target.add_object(Addr{number}, kOwner);
  CHECK(scene.lock(number, kTimedWait, kOwner).kind == LockKind::kThreadEnd);
  CHECK(scene.lock(number, kTimedWait, kGone).kind == LockKind::kUnknown);
}

TEST_CASE("addresses that cannot be read have no owner") {
  LockScene scene;
  for (const std::uint64_t expected : {0UL, 2UL, 3UL, 50UL, 0x80000032UL}) {
    for (const std::uint64_t word : {0UL, 8UL, ~0UL, 0x7fffffffffffUL}) {
      const NativeLock lock = scene.lock(word, kTimedWait, expected);
      CHECK(lock.kind == LockKind::kUnknown);
    }
  }
  CHECK(scene.lock(0, FUTEX_LOCK_PI, 0).owner == 0);
}

// Names, on plain data.
struct Named {
  snapshot::Capture capture;
  snapshot::Tables& tables = capture.tables;
  snapshot::ThreadCapture thread;
  snapshot::Wait& wait = thread.wait;

  Named() {
    wait.on = snapshot::WaitOn::kLock;
    wait.how = snapshot::WaitHow::kLock;
  }
  // Sets a lock that thread 7 of pid 5 has.
  void lock(snapshot::LockKind kind) {
    wait.lock.kind = kind;
    wait.lock.owner = snapshot::LockOwner::kThread;
    wait.holder_tid = 7;
    wait.holder_pid = 5;
  }
  std::string name(std::initializer_list<const char*> functions,
                   const char* file = "/l/libc.so.6") {
    snapshot::Stack stack;
    for (const char* function : functions) {
      snapshot::Frame frame;
      frame.function = tables.string(function);
      frame.file = tables.string(file);
      stack.frames.push_back(tables.frame(frame));
    }
    thread.samples = snapshot::SampleList(1, {});
    thread.samples.edit(0).stack = tables.stack(stack);
    name_native_lock(thread, tables, wait);
    return tests::sentence_of(capture, snapshot::ProcessCapture{}, thread);
  }
};

TEST_CASE("the call shows which waits have no owner") {
  Named condition;
  condition.wait.limited = true;
  CHECK(condition.name({"__futex_abstimed_wait_common", "___pthread_cond_wait"}) ==
        "a condition variable, which has no owner, with a time limit");
  CHECK(condition.wait.lock.kind == LockKind::kCondition);
  CHECK(Named().name({"__new_sem_wait_slow64.constprop.0", "sem_wait@@GLIBC_2.34"}) ==
        "a semaphore, which has no owner");
  CHECK(Named().name({"pthread_barrier_wait"}) == "a barrier, which has no owner");
  CHECK(Named().name({"__pthread_once"}) ==
        "the end of a first call (pthread_once, or a static variable)");
}

TEST_CASE("the call shows whether a read-write lock is wanted for reading or writing") {
  Named reader;
  reader.lock(LockKind::kWriteLock);
  reader.wait.limited = true;
  CHECK(reader.name({"pthread_rwlock_rdlock"}) ==
        "read-write lock locked by thread 7, with a time limit, wants to read");
  Named writer;
  writer.lock(LockKind::kWriteLock);
  CHECK(writer.name({"pthread_rwlock_wrlock"}) ==
        "read-write lock locked by thread 7, wants to write");
}

TEST_CASE("an owner that exists stays, one that seemed gone does not") {
  Named named;
  named.lock(LockKind::kMutex);
  CHECK(named.name({"pthread_cond_wait"}) == "mutex locked by thread 7");
  CHECK(named.wait.holder_tid == 7);
  Named gone;
  gone.wait.lock.kind = LockKind::kMutex;
  gone.wait.lock.owner = snapshot::LockOwner::kNotHere;
  gone.wait.holder_alive = snapshot::Known::kNo;
  CHECK(gone.name({"pthread_cond_wait"}) == "a condition variable, which has no owner");
  CHECK(gone.wait.holder_alive == snapshot::Known::kUnknown);
}

TEST_CASE("a Python lock object stays one, although it waits as a semaphore") {
  Named named;
  named.wait.how = snapshot::WaitHow::kPythonLock;
  named.wait.detail = named.tables.string("Python lock, which does not say who holds it");
  CHECK(named.name({"sem_wait"}) == "Python lock, which does not say who holds it");
}

TEST_CASE("locks of libc's own are named, and only within libc") {
  Named named;
  named.lock(LockKind::kMutex);
  CHECK(named.name({"__lll_lock_wait", "pthread_mutex_lock", "__GI___dl_iterate_phdr"}) ==
        "mutex locked by thread 7; in dl_iterate_phdr(): the dynamic loader's lock");
  CHECK(named.wait.lock.inner == snapshot::InnerLock::kLoader);
  CHECK(Named().name({"malloc"}, "/x/libmine.so") == "semaphore, condition or join");
  CHECK(Named().name({"__lll_lock_wait_private", "malloc"}) ==
        "lock; in malloc(): the allocator's lock");
}

}  // namespace
}  // namespace oddrank::waits
