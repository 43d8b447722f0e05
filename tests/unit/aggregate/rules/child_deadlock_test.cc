// Processes of one rank that wait for each other.
#include <string>
#include <vector>

#include "aggregate/diagnose.h"
#include "tests/support/catch.h"
#include "tests/support/hung_jobs.h"

namespace oddrank::aggregate {

using snapshot::WaitOn;
using tests::CaptureBuilder;
using tests::pid_of;
using tests::ThreadSpec;

namespace {

// Ranks 0 and 2-7 wait for rank 1, which reads from the last of `children`; each of these reads
// from the one before it, and the first one from rank 1.
struct PipeCircle {
  CaptureBuilder job = tests::eight_ranks(tests::in_all_reduce());

  explicit PipeCircle(std::size_t children) {
    pid_t from = pid_of(1);
    for (std::size_t i = 0; i < children; ++i) {
      const auto pid = static_cast<pid_t>(7540 + i);
      job.thread(job.child(pid_of(1), "n0", pid), reads(from));
      from = pid;
    }
    add(reads(from), true);
  }
  static ThreadSpec reads(pid_t from) {
    ThreadSpec spec = tests::waiting_on(WaitOn::kPipe, "pipe:[9]");
    spec.frames = {tests::native("read", "libc.so.6"), tests::py("finish", "/job/clean.py", 39)};
    spec.wait.syscall = "read";
    spec.wait.holder_pid = from;
    return spec;
  }
  void add(const ThreadSpec& spec, bool instead = false) {
    auto& rank = job.process(pid_of(1));
    if (instead) {
      rank.threads.clear();
    }
    job.thread(rank, spec);
  }
  Kind kind() const { return diagnose(job.capture).verdict.kind; }
};

}  // namespace

TEST_CASE("child_deadlock: a circle of pipes through one child or several") {
  for (std::size_t children = 1; children <= 3; ++children) {
    INFO(children);
    CHECK(PipeCircle(children).kind() == Kind::kChildDeadlock);
  }
}

TEST_CASE("child_deadlock: no circle if another thread of the rank may write") {
  PipeCircle circle(2);
  ThreadSpec feeds = tests::sleeping();
  feeds.frames = {tests::native("clock_nanosleep", "libc.so.6"),
                  tests::py("feed", "/job/clean.py", 51)};
  circle.add(feeds);
  CHECK(circle.kind() == Kind::kSkippedCollective);
}

TEST_CASE("child_deadlock: children of each other, as only a damaged capture has them") {
  CaptureBuilder job = tests::eight_ranks(tests::in_all_reduce());
  constexpr pid_t kFirst = 7540;
  const auto waits_for = [](pid_t pid) {
    ThreadSpec spec = tests::waiting_on(WaitOn::kChild, "");
    spec.wait.syscall = "wait4";
    spec.wait.holder_pid = pid;
    return spec;
  };
  for (pid_t i = 0; i < 3; ++i) {
    auto& child = job.child(pid_of(1), "n0", kFirst + i);
    child.parent = kFirst + (i + 2) % 3;
    job.thread(child, waits_for(kFirst + (i + 1) % 3));
  }
  auto& rank = job.process(pid_of(1));
  rank.threads.clear();
  job.thread(rank, waits_for(kFirst));
  CHECK(diagnose(job.capture).verdict.kind == Kind::kChildDeadlock);
}

// The states of the children of rank 1, which waits for the last of them.
struct Children {
  char state = 'S';
  std::int32_t exit_code = -1;
};

Verdict with_children(const std::vector<Children>& children,
                      const ThreadSpec& waits,
                      const ThreadSpec& living = tests::sleeping()) {
  CaptureBuilder job = tests::eight_ranks(tests::in_all_reduce());
  for (std::size_t i = 0; i < children.size(); ++i) {
    auto& child = job.child(pid_of(1), "n0", static_cast<pid_t>(7540 + i));
    child.parent = pid_of(1);
    child.state = children[i].state;
    child.exit_code = children[i].exit_code;
    if (child.state == 'S') {
      job.thread(child, living);
    }
  }
  tests::replace(job, 1, waits);
  return diagnose(job.capture).verdict;
}

TEST_CASE("child_deadlock: a child that has ended ends wait4(), and another one follows") {
  ThreadSpec reaps = tests::waiting_on(WaitOn::kChild);
  reaps.wait.syscall = "wait4";
  const Verdict verdict = with_children({{'X'}, {'X'}}, reaps);
  CHECK(verdict.kind == Kind::kSlow);
  CHECK(verdict.confidence == Confidence::kPossible);
  CHECK(verdict.summary.find("2 of its child processes have ended meanwhile") != std::string::npos);
  CHECK(with_children({{'Z', 0}}, reaps).kind == Kind::kSkippedCollective);
}

TEST_CASE("child_deadlock: a worker that was killed may have had the other end of the pipe") {
  ThreadSpec reads = tests::waiting_on(WaitOn::kPipe, "pipe:[9]");
  reads.wait.syscall = "read";
  CHECK(with_children({{'Z', 9}, {'S'}}, reads).kind == Kind::kChildDeadlock);
  CHECK(with_children({{'Z', 0}, {'S'}}, reads).kind != Kind::kChildDeadlock);
  CHECK(with_children({{'X'}, {'S'}}, reads).kind != Kind::kChildDeadlock);
  // The only living one has the other end, and waits for its next work.
  reads.wait.holder_pid = 7541;
  CHECK(with_children({{'Z', 9}, {'S'}}, reads).kind != Kind::kChildDeadlock);
  ThreadSpec idle = tests::waiting_on(WaitOn::kPipe, "pipe:[8]");
  idle.frames = {tests::native("read", "libc.so.6"),
                 tests::py("Queue.get", "/usr/lib/python3.11/multiprocessing/queues.py", 103),
                 tests::py("work", "/job/work.py", 7)};
  CHECK(with_children({{'Z', 9}, {'S'}}, reads, idle).kind == Kind::kChildDeadlock);
}

TEST_CASE("file_lock: the lock that a child of the rank has is named, not the child alone") {
  ThreadSpec wants = tests::waiting_on(WaitOn::kFileLock, "/data/cache.lck");
  wants.wait.syscall = "flock";
  wants.wait.holder_pid = 7540;
  const Verdict verdict = with_children({{'S'}}, wants);
  CHECK(verdict.kind == Kind::kFileLock);
  CHECK(verdict.summary.find("waits for a file lock on /data/cache.lck, held by its child "
                             "process pid 7540, which ") != std::string::npos);
}

}  // namespace oddrank::aggregate
