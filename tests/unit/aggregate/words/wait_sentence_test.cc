// The words for each fact of a wait.
#include "aggregate/words/wait_sentence.h"

#include <string>

#include "tests/support/capture_builder.h"
#include "tests/support/catch.h"
#include "tests/support/sentence_of.h"

namespace oddrank::aggregate {
namespace {

using snapshot::InnerLock;
using snapshot::LockKind;
using snapshot::LockMode;
using snapshot::LockOwner;
using snapshot::Wait;
using snapshot::WaitAbout;
using snapshot::WaitHow;

constexpr pid_t kPid = 100;

// A rank, pid 100, whose main thread waits; children are added by hand.
struct Scene {
  tests::CaptureBuilder job{{"n0"}, 1};

  Scene() { job.thread(job.rank(0, "n0", kPid), {}); }

  Wait& wait() { return job.process(kPid).threads[0].wait; }
  snapshot::StringId text(std::string_view words) { return job.capture.tables.string(words); }
  std::string says() {
    const auto& process = job.process(kPid);
    return tests::sentence_of(job.capture, process, process.threads[0]);
  }
  snapshot::ProcessCapture& child(pid_t pid, const tests::ThreadSpec& spec) {
    auto& process = job.child(kPid, "n0", pid);
    job.thread(process, spec);
    return process;
  }
};

tests::ThreadSpec reading(const std::string& what) {
  tests::ThreadSpec spec;
  spec.frames = {tests::native("read", "/lib/libc.so.6"), tests::py("load", "/job/data.py", 31),
                 tests::py("main", "/job/train.py", 5)};
  spec.wait.detail = what;
  return spec;
}

std::string lock_says(LockKind kind, LockOwner owner, pid_t holder_pid, pid_t holder_tid) {
  Scene scene;
  scene.wait().how = WaitHow::kLock;
  scene.wait().holder_pid = holder_pid;
  scene.wait().holder_tid = holder_tid;
  scene.wait().lock.kind = kind;
  scene.wait().lock.owner = owner;
  scene.wait().lock.owner_tid = 71;
  scene.wait().lock.readers = 2;
  return scene.says();
}

TEST_CASE("a wait without facts has no sentence") {
  Scene scene;
  CHECK(scene.says().empty());
  scene.wait().limited = true;
  CHECK(scene.says().empty());
}

TEST_CASE("stored words stand first, limits and notes follow") {
  Scene scene;
  scene.wait().detail = scene.text("sleeps");
  scene.wait().limited = true;
  scene.wait().rare.edit().notes = scene.text("a note");
  scene.wait().rare.edit().motion = scene.text("it polls");
  CHECK(scene.says() == "sleeps, with a time limit; a note; it polls");
  scene.wait().limit_ms = 0;
  CHECK(scene.says() == "sleeps, for 0 ms at most; a note; it polls");
  scene.wait().limit_ms = 3'480'000;
  CHECK(scene.says() == "sleeps, for 58 min more at most; a note; it polls");
  scene.wait().limit_ms = 0;
  // Words from a file of another format or from Python replace our own sentence.
  scene.wait().how = WaitHow::kFrozen;
  CHECK(scene.says() == "sleeps; a note; it polls");
}

TEST_CASE("a lock and its owner") {
  using enum LockOwner;
  CHECK(lock_says(LockKind::kMutex, kThread, kPid, 71) == "mutex locked by thread 71");
  CHECK(lock_says(LockKind::kMutex, kThread, kPid, kPid) ==
        "mutex that this thread has locked itself");
  CHECK(lock_says(LockKind::kThreadEnd, kThread, kPid, 72) == "waits for the end of thread 72");
  CHECK(lock_says(LockKind::kRobust, kDied, 0, 0) ==
        "robust mutex whose owner, thread 71, has died");
  CHECK(lock_says(LockKind::kWriteLock, kOtherProcess, 9, 71) ==
        "read-write lock shared by processes, locked by thread 71 of pid 9");
  CHECK(lock_says(LockKind::kInheriting, kOtherNamespace, 0, 0) ==
        "priority-inheriting mutex shared by processes, locked by thread 71 of its pid namespace");
  CHECK(lock_says(LockKind::kReadLocks, kUnknown, 0, 0) ==
        "read-write lock held by 2 readers, who are not named in it");
  CHECK(lock_says(LockKind::kShared, kNobodyAcquired, 0, 0) ==
        "semaphore shared by processes; it tells no owner");
  CHECK(lock_says(LockKind::kShared, kNobodyElse, 0, 0) ==
        "semaphore shared by processes; no other process has it any more");
  const std::string acquired = "semaphore shared by processes; a lock of multiprocessing that ";
  const std::string kept = " has acquired and not released";
  CHECK(lock_says(LockKind::kShared, kAcquired, 9, 91) == acquired + "thread 91 of pid 9" + kept);
  CHECK(lock_says(LockKind::kShared, kAcquired, kPid, kPid) ==
        acquired + "this thread itself" + kept);
  CHECK(lock_says(LockKind::kShared, kAcquired, 9, 0) ==
        acquired + "a thread that has ended of pid 9" + kept);
}

TEST_CASE("a lock that was left behind by a fork") {
  Scene scene;
  scene.wait().how = WaitHow::kLock;
  scene.wait().lock.kind = LockKind::kMutex;
  scene.wait().lock.owner = LockOwner::kNotHere;
  scene.wait().lock.owner_tid = 71;
  CHECK(scene.says() ==
        "mutex locked by thread 71, which this process does not have (ended, or left behind by a "
        "fork)");
  scene.wait().lock.owner_pid = 70;
  CHECK(scene.says() ==
        "mutex locked by thread 71, which this process does not have: it is one of pid 70, so the "
        "lock was left behind by a fork");
}

TEST_CASE("the C library's own lock, and the call that wants it") {
  Scene scene;
  scene.wait().how = WaitHow::kLock;
  CHECK(scene.says() == "semaphore, condition or join");
  scene.wait().lock.inner = InnerLock::kStream;
  scene.wait().lock.function = scene.text("fflush");
  scene.wait().limited = true;
  CHECK(scene.says() == "lock, with a time limit; in fflush(): a stdio stream's lock");
  scene.wait().lock.kind = LockKind::kWriteLock;
  scene.wait().lock.mode = LockMode::kWrite;
  CHECK(scene.says() ==
        "read-write lock, with a time limit, wants to write; in fflush(): a stdio stream's lock");
}

TEST_CASE("sentences of futures and the GIL omit the time limit that Python sets itself") {
  Scene scene;
  scene.wait().limited = true;
  scene.wait().holder_tid = 71;
  const auto says = [&scene](WaitHow how) {
    scene.wait().how = how;
    return scene.says();
  };
  CHECK(says(WaitHow::kFuture) == "waits for a future");
  CHECK(says(WaitHow::kFutureOfThread) == "waits for a future that thread 71 is at work on");
  CHECK(says(WaitHow::kFutureNotBegun) == "waits for a future that nobody has begun");
  CHECK(says(WaitHow::kGil) == "waits for Python's GIL");
  scene.wait().lock.owner = LockOwner::kThread;
  CHECK(says(WaitHow::kGil) == "waits for Python's GIL, held by thread 71");
}

TEST_CASE("a call that waits for several files") {
  Scene scene;
  scene.wait().how = WaitHow::kFiles;
  scene.wait().syscall_name = scene.text("ppoll");
  CHECK(scene.says() == "in ppoll() of no file that could be read");
  scene.wait().rare.edit().awaited_count = 3;
  CHECK(scene.says() == "in ppoll() of 3 files that could not be read");
  scene.wait().rare.edit().awaited.resize(2);
  scene.wait().rare.edit().awaited[0].fd = 4;
  scene.wait().rare.edit().awaited[0].link = scene.text("pipe:[31]");
  scene.wait().rare.edit().awaited[0].note = scene.text("pid 20 has it open for writing");
  scene.wait().rare.edit().awaited[1].fd = 5;
  scene.wait().rare.edit().awaited[1].link = scene.text("socket:[77]");
  CHECK(scene.says() ==
        "in ppoll() of 3 files (4 pipe:[31], 5 socket:[77], ...); fd 4: pid 20 has it open for "
        "writing");
  scene.wait().rare.edit().awaited_count = 2;
  scene.wait().rare.edit().own_wakers = true;
  scene.wait().rare.edit().awaited[0].note = {};
  CHECK(scene.says() == "in ppoll() of 2 files (4 pipe:[31], 5 socket:[77]) and its own wakers");
  scene.wait().rare.edit().awaited.resize(1);
  scene.wait().rare.edit().awaited_count = 1;
  CHECK(scene.says() == "in ppoll() of pipe:[31] (and its own wakers)");
  scene.wait().rare.edit().awaited[0].link = {};
  CHECK(scene.says() == "in ppoll() of fd 4 (and its own wakers)");
}

TEST_CASE("a connection: its ends, its state, its queues, its silence") {
  Scene scene;
  scene.wait().detail = scene.text("in recvfrom() of socket:[77]");
  scene.wait().rare.edit().awaited.resize(1);
  snapshot::AwaitedFile& file = scene.wait().rare.edit().awaited[0];
  file.local = scene.text("10.0.0.1:4");
  file.peer = scene.text("10.0.0.2:5");
  file.state = 1;
  file.store = snapshot::Store::kOther;
  file.unread = 3;
  file.unsent = 4;
  file.received_ms = 61'999;
  file.sent_ms = 999;
  file.tls = true;
  file.note = scene.text("the other end is pid 20");
  CHECK(scene.says() ==
        "in recvfrom() of socket:[77]; TCP 10.0.0.1:4 to 10.0.0.2:5 (a store), ESTABLISHED, 3 "
        "bytes not read, 4 bytes not acknowledged, nothing received for 61 s, over TLS; the other "
        "end is pid 20");
  file.sent_ms = 62'000;
  CHECK(scene.says().find("nothing received for 61 s, nothing sent for 62 s") != std::string::npos);
  file = {};
  file.local = scene.text("0.0.0.0:7");
  file.state = 10;
  CHECK(scene.says() == "in recvfrom() of socket:[77]; listens at 0.0.0.0:7");
  file.state = 77;
  CHECK(scene.says().find("state 77") != std::string::npos);
}

TEST_CASE("a thread that its cgroup has frozen") {
  Scene scene;
  scene.wait().how = WaitHow::kFrozen;
  scene.wait().wchan = scene.text("futex_wait_queue");
  CHECK(scene.says() == "frozen by its cgroup (freezer.state)");
  scene.wait().wchan = scene.text("do_freezer_trap");
  CHECK(scene.says() == "frozen by its cgroup (do_freezer_trap)");
}

TEST_CASE("the process that a wait is about is described") {
  Scene scene;
  scene.child(201, reading("in read() of /data/7.tar"));
  scene.wait().detail = scene.text("waits for any of its children");
  scene.wait().holder_pid = 201;
  scene.wait().rare.edit().about = WaitAbout::kOnlyChild;
  CHECK(scene.says() ==
        "waits for any of its children; its only child pid 201: in read() of /data/7.tar; at load "
        "(data.py:31)");
  scene.wait().rare.edit().about = WaitAbout::kHolder;
  scene.job.process(201).state = 'Z';
  scene.job.process(201).exit_code = 9;
  CHECK(scene.says() ==
        "waits for any of its children; pid 201: dead, not reaped, killed by signal 9");
  scene.wait().holder_pid = 999;
  CHECK(scene.says() == "waits for any of its children");
}

TEST_CASE("two processes that wait for each other are each described once") {
  Scene scene;
  tests::ThreadSpec spec = reading("in read() of pipe:[1]");
  spec.wait.holder_pid = kPid;
  scene.child(201, spec).threads[0].wait.rare.edit().about = WaitAbout::kHolder;
  scene.wait().detail = scene.text("in read() of pipe:[2]");
  scene.wait().holder_pid = 201;
  scene.wait().rare.edit().about = WaitAbout::kHolder;
  CHECK(scene.says() ==
        "in read() of pipe:[2]; pid 201: in read() of pipe:[1]; at load (data.py:31)");
}

TEST_CASE("workers of a pool") {
  Scene scene;
  scene.child(201, reading("in read() of /data/7.tar"));
  scene.wait().detail = scene.text("in read() of pipe:[2]");
  scene.wait().rare.edit().about = WaitAbout::kPool;
  scene.wait().rare.edit().pool = {scene.text("DataLoader worker"), 0, 0, {}};
  CHECK(scene.says() == "waits for a DataLoader worker, but none was found");
  scene.wait().rare.edit().pool.workers = 3;
  CHECK(scene.says() == "waits for a DataLoader worker, but all 3 are idle");
  scene.wait().rare.edit().pool.meant = 1;
  scene.wait().rare.edit().pool.pids = {201};
  CHECK(scene.says() ==
        "DataLoader worker pid 201: in read() of /data/7.tar; at load (data.py:31)");
  scene.wait().rare.edit().pool.meant = 5;
  scene.wait().rare.edit().pool.pids = {201, 999};
  CHECK(scene.says() ==
        "5 DataLoader workers could be meant: pid 201: in read() of /data/7.tar; at load "
        "(data.py:31); pid 999: not read; ...");
}

TEST_CASE("endless texts are cut") {
  Scene scene;
  scene.wait().detail = scene.text(std::string(1 << 20, 'x'));
  CHECK(scene.says().size() < 32768);
}

}  // namespace
}  // namespace oddrank::aggregate
