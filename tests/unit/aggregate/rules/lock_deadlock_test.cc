// Circles of threads within a rank: what is a circle, what is not, and which threads are in it.
#include "aggregate/diagnose.h"
#include "aggregate/view/thread_cycle.h"
#include "tests/support/catch.h"
#include "tests/support/hung_jobs.h"

namespace oddrank::aggregate {

using snapshot::ProcessCapture;
using snapshot::ThreadCapture;
using snapshot::WaitOn;
using tests::CaptureBuilder;
using tests::pid_of;

namespace {

ThreadCapture thread(pid_t tid, WaitOn on, pid_t holder) {
  ThreadCapture row;
  row.tid = tid;
  row.wait.on = on;
  row.wait.holder_pid = holder == 0 ? 0 : 10;
  row.wait.holder_tid = holder;
  return row;
}

ProcessCapture process(std::vector<ThreadCapture> threads) {
  ProcessCapture row;
  row.pid = 10;
  row.threads = std::move(threads);
  return row;
}

std::vector<pid_t> tids(const ThreadList& list) {
  std::vector<pid_t> numbers;
  for (const ThreadCapture* each : list) {
    numbers.push_back(each->tid);
  }
  return numbers;
}

using ChainTids = std::vector<pid_t>;

Verdict deadlock_verdict(const CaptureBuilder& job) {
  return diagnose(job.capture).verdict;
}

}  // namespace

TEST_CASE("owners are followed to their end") {
  const ProcessCapture chain =
      process({thread(10, WaitOn::kLock, 11), thread(11, WaitOn::kThread, 12),
               thread(12, WaitOn::kSocket, 0)});
  const ThreadChain found = follow_threads(chain, chain.threads[0]);
  CHECK(tids(found.way) == ChainTids{10, 11, 12});
  CHECK(found.circle.empty());
}

TEST_CASE("a circle is found, with the threads that lead to it") {
  const ProcessCapture three =
      process({thread(10, WaitOn::kThread, 11), thread(11, WaitOn::kLock, 12),
               thread(12, WaitOn::kLock, 11)});
  const ThreadChain found = follow_threads(three, three.threads[0]);
  CHECK(tids(found.way) == ChainTids{10});
  CHECK(tids(found.circle) == ChainTids{11, 12});
  const ProcessCapture one = process({thread(10, WaitOn::kLock, 10)});
  CHECK(tids(follow_threads(one, one.threads[0]).circle) == ChainTids{10});
}

TEST_CASE("owners in other processes, unknown ones, and other waits lead nowhere") {
  ProcessCapture row = process({thread(10, WaitOn::kLock, 11), thread(11, WaitOn::kPipe, 10)});
  CHECK(follow_threads(row, row.threads[0]).circle.empty());
  row.threads[1] = thread(11, WaitOn::kLock, 10);
  row.threads[1].wait.holder_pid = 99;
  CHECK(follow_threads(row, row.threads[0]).circle.empty());
  row.threads[0].wait.holder_tid = 77;
  CHECK(tids(follow_threads(row, row.threads[0]).way) == ChainTids{10});
}

TEST_CASE("lock_deadlock: every thread and lock of the circle") {
  const Verdict verdict = deadlock_verdict(tests::lock_deadlock_job());
  CHECK(verdict.kind == Kind::kLockDeadlock);
  CHECK(verdict.confidence == Confidence::kCertain);
  REQUIRE(verdict.culprits.size() == 1);
  CHECK(verdict.culprits[0].rank == 5);
  CHECK(verdict.culprits[0].tid == pid_of(5));
  CHECK(verdict.culprits[0].waits_for.what == WaitOn::kLock);
  CHECK(verdict.culprits[0].waits_for.tid == 3155);
  CHECK(verdict.culprits[0].waits_for.address == 0x55d0c0);
  for (const char* part : {"thread 3005", "thread 3155", "0x55d0c0", "0x55d100"}) {
    INFO(part);
    CHECK(verdict.summary.find(part) != std::string::npos);
  }
  REQUIRE(verdict.chain.size() == 3);
  CHECK(verdict.chain[1].waiters == "thread 3005 (MainThread)");
  CHECK(verdict.chain[2].waits_for == "thread 3005 (MainThread)");
}

TEST_CASE("lock_deadlock: an inferred owner makes it likely") {
  CaptureBuilder job = tests::lock_deadlock_job();
  job.process(pid_of(5)).threads[0].wait.inferred = true;
  CHECK(deadlock_verdict(job).confidence == Confidence::kLikely);
}

TEST_CASE("lock_deadlock: a thread that moved between the samples makes it possible at most") {
  CaptureBuilder job = tests::lock_deadlock_job();
  ProcessCapture& rank = job.process(pid_of(5));
  rank.threads.back().samples.edit(0).stack = rank.threads.front().samples.edit(0).stack;
  CHECK(deadlock_verdict(job).confidence == Confidence::kPossible);
}

TEST_CASE("gil_deadlock: the GIL's holder waits for a thread that wants the GIL") {
  const Verdict verdict = deadlock_verdict(tests::gil_deadlock_job());
  CHECK(verdict.kind == Kind::kGilDeadlock);
  CHECK(verdict.confidence == Confidence::kCertain);
  REQUIRE(verdict.culprits.size() == 1);
  CHECK(verdict.culprits[0].rank == 3);
  CHECK(verdict.culprits[0].waits_for.tid == 3133);
  CHECK(verdict.summary.find("the GIL, which thread 3003 holds") != std::string::npos);
}

TEST_CASE(
    "gil_deadlock: a holder that waits for no thread is one only if it sleeps or is in a call") {
  CaptureBuilder job = tests::gil_deadlock_job();
  auto& threads = job.process(pid_of(3)).threads;
  threads[0].wait.holder_tid = 0;
  threads[0].wait.holder_pid = 0;
  threads[0].holds_gil = false;
  CHECK(deadlock_verdict(job).kind == Kind::kSkippedCollective);
  threads[0].holds_gil = true;
  threads[1].wants_gil = true;
  const Verdict verdict = deadlock_verdict(job);
  CHECK(verdict.kind == Kind::kGilDeadlock);
  CHECK(verdict.confidence == Confidence::kLikely);
  INFO(verdict.summary);
  CHECK(verdict.summary.find("keeps the GIL, which thread ") != std::string::npos);
  threads[0].samples.edit_back().state = 'R';
  CHECK(deadlock_verdict(job).kind != Kind::kGilDeadlock);
}

TEST_CASE("gil_deadlock: the holder may spin inside of a communication library") {
  CaptureBuilder job = tests::gil_deadlock_job();
  auto& threads = job.process(pid_of(3)).threads;
  threads[0].holds_gil = false;
  threads[0].wants_gil = true;
  threads[0].wait.on = WaitOn::kGil;
  threads[0].wait.how = snapshot::WaitHow::kGil;
  ThreadCapture& keeper = threads.back();
  keeper.holds_gil = true;
  keeper.wants_gil = false;
  keeper.wait = {};
  keeper.wait.on = WaitOn::kNothing;
  for (std::size_t i = 0; i < keeper.samples.size(); ++i) {
    keeper.samples.edit(i).state = 'R';
  }
  CHECK(deadlock_verdict(job).kind != Kind::kGilDeadlock);  // it may be at work
  snapshot::CollectiveCall call;
  call.op = job.capture.tables.string("comm_dup");
  keeper.call = call;
  const Verdict verdict = deadlock_verdict(job);
  INFO(verdict.summary);
  CHECK(verdict.kind == Kind::kGilDeadlock);
  REQUIRE(verdict.culprits.size() == 1);
  CHECK(verdict.culprits[0].rank == 3);
  CHECK(verdict.summary.find("waits in comm_dup") != std::string::npos);
}

TEST_CASE("if a lock's holder is stuck in a file, the verdict is about the file") {
  CaptureBuilder job = tests::lock_deadlock_job();
  snapshot::Wait& wait = job.process(pid_of(5)).threads.back().wait;
  wait = {};
  wait.on = WaitOn::kFile;
  wait.path = job.capture.tables.string("/mnt/ckpt/rank5.pt");
  const Verdict verdict = deadlock_verdict(job);
  CHECK(verdict.kind == Kind::kIoStall);
  REQUIRE(verdict.culprits.size() == 1);
  CHECK(verdict.culprits[0].tid == 3155);
}

}  // namespace oddrank::aggregate
