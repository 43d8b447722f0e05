// A rank whose main thread is in a collective, and whose other threads serve the other ranks.

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

constexpr std::int32_t kServer = 0;
constexpr std::int32_t kClient = 1;  // on the same node

// The client waits for an answer of the server, which is in the all_reduce that waits for the
// client.
CaptureBuilder job_with_client(std::string_view peer) {
  CaptureBuilder job = tests::eight_ranks(tests::in_all_reduce());
  tests::replace(job, kClient, tests::asking_rank(kServer));
  job.process(pid_of(kClient)).threads.front().wait.rare.edit().peer =
      job.capture.tables.string(peer);
  return job;
}

// Adds a thread to the server that listens there.
void listen(CaptureBuilder& job, std::string_view local) {
  ThreadSpec listens = waiting_on(WaitOn::kSocket);
  listens.python_name = "Thread-1 (serve_forever)";
  snapshot::ThreadCapture& thread = job.thread(job.process(pid_of(kServer)), listens);
  thread.tid = 9000;
  snapshot::AwaitedFile& file = thread.wait.rare.edit().awaited.emplace_back();
  file.link = job.capture.tables.string("socket:[8]");
  file.local = job.capture.tables.string(local);
  thread.wait.rare.edit().awaited_count = 1;
}

Kind kind_of(const CaptureBuilder& job) {
  return diagnose(job.capture).verdict.kind;
}

}  // namespace

TEST_CASE("side servers: a thread that listens may owe the answer, so there is no circle") {
  CaptureBuilder job = job_with_client("127.0.0.1:8400");
  SECTION("at the port of the connection") {
    listen(job, "0.0.0.0:8400");
    const Diagnosis report = diagnose(job.capture);
    INFO(report.verdict.summary);
    CHECK(report.verdict.culprits.empty());
  }
  SECTION("at another port") {
    listen(job, "0.0.0.0:9400");
    CHECK(kind_of(job) == Kind::kResourceCycle);
  }
  SECTION("at a local socket") {
    listen(job, "");
    CHECK(kind_of(job) == Kind::kResourceCycle);
  }
  SECTION("nowhere") {
    CHECK(kind_of(job) == Kind::kResourceCycle);
  }
}

TEST_CASE("side servers: any thread at a local socket may owe the answer to one") {
  CaptureBuilder job = job_with_client("");
  CHECK(kind_of(job) == Kind::kResourceCycle);
  listen(job, "0.0.0.0:9400");
  CHECK(kind_of(job) == Kind::kResourceCycle);
  listen(job, "");
  CHECK(diagnose(job.capture).verdict.culprits.empty());
}

TEST_CASE("side servers: a rank that the others wait for anyway is named") {
  CaptureBuilder job = job_with_client("127.0.0.1:8400");
  tests::replace(job, 5, tests::sleeping());
  listen(job, "0.0.0.0:8400");
  const Verdict verdict = diagnose(job.capture).verdict;
  REQUIRE(verdict.culprits.size() == 1);
  CHECK(verdict.culprits[0].rank == 5);
}

// Adds a thread to the process. The thread has the other end of the client's connection in a
// variable.
snapshot::ThreadCapture& keep(CaptureBuilder& job, ThreadSpec spec, pid_t pid = pid_of(kServer)) {
  spec.python_name = "Thread-1 (process_request_thread)";
  snapshot::Tables& tables = job.capture.tables;
  snapshot::RareWaitFacts& asks = job.process(pid_of(kClient)).threads.front().wait.rare.edit();
  asks.local = tables.string("127.0.0.1:49008");
  asks.peer = tables.string("127.0.0.1:8400");
  asks.other_end = tables.string("socket:[8]");
  snapshot::ThreadCapture& thread = job.thread(job.process(pid), spec);
  thread.tid = 9000;
  thread.wait.rare.edit().kept = {{asks.other_end, asks.peer, asks.local}};
  return thread;
}

TEST_CASE("side servers: the thread that has the connection owes the answer") {
  CaptureBuilder job = job_with_client("127.0.0.1:8400");
  SECTION("it sleeps, whatever its main thread waits in") {
    keep(job, tests::sleeping());
    const Verdict verdict = diagnose(job.capture).verdict;
    INFO(verdict.summary);
    CHECK(verdict.kind == Kind::kStuckRank);
    REQUIRE(verdict.culprits.size() == 1);
    CHECK(verdict.culprits[0].rank == kServer);
  }
  SECTION("on another node, it is known by its addresses") {
    keep(job, tests::sleeping());
    job.process(pid_of(kClient)).threads.front().wait.rare.edit().other_end = {};
    job.process(pid_of(kClient)).threads.front().wait.holder_pid = 0;
    job.process(pid_of(kClient)).node = 1;
    job.process(pid_of(kServer)).connections = {{job.capture.tables.string("127.0.0.1:8400"),
                                                 job.capture.tables.string("127.0.0.1:49008")}};
    const Verdict verdict = diagnose(job.capture).verdict;
    INFO(verdict.summary);
    REQUIRE(verdict.culprits.size() == 1);
    CHECK(verdict.culprits[0].rank == kServer);
  }
  SECTION("another connection says nothing") {
    keep(job, tests::sleeping()).wait.rare.edit().kept.front().link =
        job.capture.tables.string("socket:[9]");
    CHECK(kind_of(job) == Kind::kResourceCycle);
  }
  SECTION("it waits for the next request there: somebody has lost one") {
    snapshot::ThreadCapture& thread = keep(job, waiting_on(WaitOn::kSocket));
    thread.wait.path = thread.wait.rare->kept.front().link;
    thread.wait.syscall_name = job.capture.tables.string("recvfrom");
    CHECK(diagnose(job.capture).verdict.kind != Kind::kStuckRank);
  }
}

TEST_CASE("side servers: a stopped child owes the answer, whatever its threads wait for") {
  constexpr pid_t kChild = 7777;
  CaptureBuilder job = job_with_client("127.0.0.1:8400");
  job.process(pid_of(kClient)).threads.front().wait.holder_pid = kChild;
  job.child(pid_of(kServer), "n0", kChild).state = 'T';
  ThreadSpec stopped = waiting_on(WaitOn::kSocket, "socket:[8]");
  stopped.state = 'T';
  keep(job, stopped, kChild);
  const Verdict verdict = diagnose(job.capture).verdict;
  INFO(verdict.summary);
  REQUIRE(verdict.culprits.size() == 1);
  CHECK(verdict.culprits[0].rank == kServer);
  CHECK(verdict.summary.find("child process pid 7777, which is stopped") != std::string::npos);
}

// The server's main thread is at a lock of its own process; another thread reads from the client.
TEST_CASE("side servers: a lock that only a reading thread can release leads to its client") {
  CaptureBuilder job({"n0"}, 3);
  job.thread(job.rank(kServer, "n0", pid_of(kServer)), tests::at_python_lock());
  job.thread(job.rank(kClient, "n0", pid_of(kClient)), tests::sleeping());
  job.thread(job.rank(2, "n0", pid_of(2)), tests::asking_rank(kServer));
  const auto add_thread = [&job](pid_t tid, const ThreadSpec& spec) -> snapshot::ThreadCapture& {
    snapshot::ThreadCapture& thread = job.thread(job.process(pid_of(kServer)), spec);
    thread.tid = tid;
    return thread;
  };
  ThreadSpec reads = tests::asking_rank(kClient);
  reads.python_name = "Thread-1 (process_request_thread)";
  add_thread(9001, reads);
  const auto named = [&job] {
    std::vector<std::int32_t> ranks;
    for (const Culprit& one : diagnose(job.capture).verdict.culprits) {
      ranks.push_back(one.rank);
    }
    return ranks;
  };
  using Ranks = std::vector<std::int32_t>;
  SECTION("no other thread can") {
    CHECK(named() == Ranks{kClient});
  }
  SECTION("a thread at the same lock cannot") {
    ThreadSpec waits = tests::at_python_lock();
    waits.python_name = "Thread-2";
    add_thread(9002, waits);
    CHECK(named() == Ranks{kClient});
  }
  SECTION("a thread that sleeps may: then nothing leads to the client") {
    ThreadSpec sleeps = tests::sleeping();
    sleeps.python_name = "Thread-3";
    add_thread(9003, sleeps);
    CHECK(named() != Ranks{kClient});
  }
}

// Long polls: the answer of the server waits at a condition for what the third rank has yet to
// send.
TEST_CASE("side servers: any thread that takes requests may bring what its process waits for") {
  CaptureBuilder job({"n0"}, 3);
  job.thread(job.rank(kServer, "n0", pid_of(kServer)), tests::at_python_lock());
  job.thread(job.rank(kClient, "n0", pid_of(kClient)), tests::asking_rank(kServer));
  job.thread(job.rank(2, "n0", pid_of(2)), tests::waiting_on(WaitOn::kSocket));
  const auto named = [&job] { return !diagnose(job.capture).verdict.culprits.empty(); };
  SECTION("no thread does: the server waits for one of its own") {
    CHECK(named());
  }
  SECTION("a thread takes connections") {
    listen(job, "0.0.0.0:8400");
    auto& waits = job.process(pid_of(kServer)).threads.back().wait;
    waits.rare.edit().awaited.front().state = snapshot::kTcpListens;
    CHECK_FALSE(named());
  }
  SECTION("a thread of the store does not hand over what it gets") {
    ThreadSpec store = waiting_on(WaitOn::kSocket);
    store.has_python = false;
    store.frames = {tests::native("epoll_wait", "/lib/libc.so.6"),
                    tests::native("_ZN4c10d6detail16LibUVStoreDaemon3runEv", "/lib/libtorch.so")};
    job.thread(job.process(pid_of(kServer)), store).tid = 9000;
    CHECK(named());
  }
}

// A barrier server within rank 0: its main thread asks it as all other ranks do.
TEST_CASE("side servers: a connection within the process leads to the thread that serves it") {
  CaptureBuilder job({"n0"}, 3);
  job.thread(job.rank(kServer, "n0", pid_of(kServer)), tests::asking_rank(kServer));
  job.thread(job.rank(kClient, "n0", pid_of(kClient)), tests::asking_rank(kServer));
  job.thread(job.rank(2, "n0", pid_of(2)), tests::sleeping());
  ThreadSpec reads = tests::asking_rank(2);
  reads.python_name = "Thread-1 (hub)";
  job.thread(job.process(pid_of(kServer)), reads).tid = 9000;
  const Verdict verdict = diagnose(job.capture).verdict;
  INFO(verdict.summary);
  REQUIRE(verdict.culprits.size() == 1);
  CHECK(verdict.culprits[0].rank == 2);
}

}  // namespace oddrank::aggregate
