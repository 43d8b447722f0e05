// Ranks that wait for ranks by what they share: a connection over nodes, a lock on a file.
#include <utility>

#include "aggregate/diagnose.h"
#include "tests/support/catch.h"
#include "tests/support/hung_jobs.h"

namespace oddrank::aggregate {

using snapshot::WaitOn;
using tests::CaptureBuilder;
using tests::pid_of;
using tests::ThreadSpec;
using tests::waiting_on;

namespace {

// Returns two ranks on two nodes; rank 1 receives from rank 0, which has a story of its own.
CaptureBuilder two_ranks(const ThreadSpec& of_rank_0) {
  CaptureBuilder job({"n0", "n1"}, 2);
  job.thread(job.rank(0, "n0", 10), of_rank_0);
  auto& waiter = job.rank(1, "n1", 10);
  job.thread(waiter, waiting_on(WaitOn::kSocket, "socket:[7]"));
  auto& tables = job.capture.tables;
  auto& wait = waiter.threads[0].wait;
  wait.rare.edit().local = tables.string("10.0.0.2:50000");
  wait.rare.edit().peer = tables.string("10.0.0.1:4000");
  job.capture.processes[0].connections.push_back({wait.rare->peer, wait.rare->local});
  waiter.connections.push_back({wait.rare->local, wait.rare->peer});
  return job;
}

Diagnosis report_of(const CaptureBuilder& job) {
  return diagnose(job.capture);
}

}  // namespace

TEST_CASE("a socket's other end is the rank on another node that owns it") {
  const CaptureBuilder job = two_ranks(waiting_on(WaitOn::kFile, "/data/shard-0.tar"));
  const Verdict verdict = report_of(job).verdict;
  CHECK(verdict.kind == Kind::kIoStall);
  REQUIRE(verdict.culprits.size() == 1);
  CHECK(verdict.culprits[0].rank == 0);
  CHECK(verdict.culprits[0].host == "n0");
  REQUIRE(verdict.chain.size() == 2);
  CHECK(verdict.chain[0].waiters == "1");
  CHECK(verdict.chain[0].waits_for == "0");
  CHECK(verdict.chain[0].on == "socket (rank 0)");
  CHECK(verdict.chain[1].waits_for == "/data/shard-0.tar");
}

TEST_CASE("a rank that sleeps while another waits for its data is the root") {
  const Verdict verdict = report_of(two_ranks(tests::sleeping())).verdict;
  CHECK(verdict.kind == Kind::kStuckRank);
  REQUIRE(verdict.culprits.size() == 1);
  CHECK(verdict.culprits[0].rank == 0);
  REQUIRE(verdict.chain.size() == 1);
  CHECK(verdict.chain[0].waiters == "1");
  CHECK(verdict.chain[0].waits_for == "0");
}

TEST_CASE("addresses that two processes claim are no evidence") {
  CaptureBuilder job = two_ranks(waiting_on(WaitOn::kFile, "/data/shard-0.tar"));
  auto& other = job.rank(2, "n1", 11);
  job.thread(other, tests::sleeping());
  other.connections = job.capture.processes[0].connections;
  const Verdict verdict = report_of(job).verdict;
  CHECK(verdict.chain.size() == 1);
}

TEST_CASE("a rank in a call waits for the call's members, not for the owner of its socket") {
  CaptureBuilder job = two_ranks(tests::sleeping());
  job.thread(job.rank(2, "n1", 11), tests::sleeping());
  snapshot::CollectiveCall& call = job.capture.processes[1].threads[0].call.emplace();
  call.op = job.capture.tables.string("all_reduce");
  const Verdict verdict = report_of(job).verdict;
  CHECK(verdict.chain.empty());  // the members that the call waits for are unknown
  CHECK(verdict.culprits.empty());
}

TEST_CASE("file_lock: the rank that has the lock, if no other verdict explains it") {
  CaptureBuilder job({"n0"}, 2);
  job.thread(job.rank(0, "n0", 10), tests::sleeping());
  ThreadSpec waits = waiting_on(WaitOn::kFileLock, "/data/.lock");
  waits.wait.holder_pid = 10;
  waits.wait.holder_alive = snapshot::Known::kYes;
  job.thread(job.rank(1, "n0", 11), waits);
  const Verdict verdict = report_of(job).verdict;
  CHECK(verdict.kind == Kind::kFileLock);
  REQUIRE(verdict.culprits.size() == 1);
  CHECK(verdict.culprits[0].rank == 0);
  CHECK(verdict.summary.find("/data/.lock") != std::string::npos);
  SECTION("a rank that polls moves, and yet waits") {
    auto& waiter = job.process(11).threads[0];
    waiter.wait.inferred = true;
    waiter.samples.edit_back().cpu_us += 50'000;
    const Verdict polled = report_of(job).verdict;
    CHECK(polled.kind == Kind::kFileLock);
    CHECK(polled.confidence == Confidence::kLikely);
    CHECK(polled.culprits[0].rank == 0);
  }
  SECTION("if the holder is stuck in a file, the verdict is about the file") {
    job.process(10).threads[0].wait.on = WaitOn::kFile;
    CHECK(report_of(job).verdict.kind == Kind::kIoStall);
  }
  SECTION("if the holder belongs to no rank, the waiter is named") {
    job.process(11).threads[0].wait.holder_pid = 99;
    const Verdict other = report_of(job).verdict;
    CHECK(other.kind == Kind::kFileLock);
    REQUIRE(other.culprits.size() == 1);
    CHECK(other.culprits[0].rank == 1);
  }
}

TEST_CASE("file_lock: a process that belongs to another rank has the lock") {
  constexpr pid_t kHelper = 4100;
  CaptureBuilder job = tests::eight_ranks(tests::in_all_reduce());
  ThreadSpec waits = waiting_on(WaitOn::kFileLock, "/data/cache.lock");
  waits.wait.holder_pid = kHelper;
  waits.wait.holder_alive = snapshot::Known::kYes;
  tests::replace(job, 2, waits);
  job.thread(job.child(pid_of(3), tests::host_of(3), kHelper), tests::sleeping());
  const Verdict verdict = report_of(job).verdict;
  CHECK(verdict.kind == Kind::kFileLock);
  CHECK(verdict.confidence == Confidence::kLikely);
  INFO(verdict.summary);
  REQUIRE(verdict.culprits.size() == 1);
  CHECK(verdict.culprits[0].rank == 3);
  CHECK(verdict.summary.find("its child process pid 4100 has the lock /data/cache.lock, which "
                             "rank 2 waits for") != std::string::npos);
}

TEST_CASE("child_deadlock: a lock that processes share is not inherited") {
  constexpr pid_t kChild = 4100;
  CaptureBuilder job = tests::eight_ranks(tests::in_all_reduce());
  ThreadSpec waits = waiting_on(WaitOn::kPipe, "pipe:[31]");
  waits.wait.holder_pid = kChild;
  tests::replace(job, 2, waits);
  ThreadSpec locked = waiting_on(WaitOn::kLock);
  locked.wait.how = snapshot::WaitHow::kLock;
  locked.wait.lock.shared = true;
  job.thread(job.child(pid_of(2), tests::host_of(2), kChild), locked);
  const Verdict verdict = report_of(job).verdict;
  CHECK(verdict.kind == Kind::kSkippedCollective);
  CHECK(verdict.confidence == Confidence::kPossible);
  job.process(kChild).threads.front().wait.lock.shared = false;
  CHECK(report_of(job).verdict.kind == Kind::kChildDeadlock);
}

TEST_CASE("stopped_rank: frozen by its cgroup, whatever the state letter says") {
  CaptureBuilder job = tests::eight_ranks(tests::in_all_reduce());
  ThreadSpec frozen = tests::sleeping();
  frozen.wait.on = WaitOn::kSignal;
  frozen.wait.wchan = "do_freezer_trap";
  tests::replace(job, 2, frozen);
  const Verdict verdict = report_of(job).verdict;
  CHECK(verdict.kind == Kind::kStoppedRank);
  REQUIRE(verdict.culprits.size() == 1);
  CHECK(verdict.culprits[0].rank == 2);
  CHECK(verdict.summary.find("frozen") != std::string::npos);
}

TEST_CASE("child_deadlock: a child that writes to the rank that waits for its end") {
  CaptureBuilder job({"n0"}, 1);
  ThreadSpec parent = waiting_on(WaitOn::kChild, "");
  parent.wait.holder_pid = 20;
  job.thread(job.rank(0, "n0", 10), parent);
  ThreadSpec child = waiting_on(WaitOn::kPipe, "pipe:[3]");
  child.wait.syscall = "write";
  child.wait.holder_pid = 10;
  job.thread(job.child(10, "n0", 20), child);
  const Verdict verdict = report_of(job).verdict;
  CHECK(verdict.kind == Kind::kChildDeadlock);
  CHECK(verdict.summary.find("full pipe") != std::string::npos);
  CHECK(verdict.advice.at(0).text.find("cancel_join_thread") != std::string::npos);
  const snapshot::StringId python = std::exchange(job.process(20).python_version, {});
  CHECK(report_of(job).verdict.advice.at(0).text.find("communicate()") != std::string::npos);
  job.process(20).python_version = python;
  job.process(20).threads[0].wait.syscall_name = job.capture.tables.string("read");
  const Verdict reads = report_of(job).verdict;
  CHECK(reads.kind == Kind::kChildDeadlock);
  CHECK(reads.summary.find("more input, or its end") != std::string::npos);
  // A thread that feeds the child may have more for it.
  job.thread(job.process(10), waiting_on(WaitOn::kUnknown, ""));
  CHECK(report_of(job).verdict.kind != Kind::kChildDeadlock);
}

}  // namespace oddrank::aggregate
