// Ranks that wait for others to connect to them.

#include <vector>

#include "aggregate/diagnose.h"
#include "tests/support/catch.h"
#include "tests/support/hung_jobs.h"
#include "tests/support/named_in.h"

namespace oddrank::aggregate {

using snapshot::WaitHow;
using snapshot::WaitOn;
using tests::CaptureBuilder;
using tests::pid_of;
using tests::ThreadSpec;
using tests::waiting_on;

namespace {

using RankNumbers = std::vector<std::int32_t>;

// Rank 0 accepts connections; ranks 1 and 3 have connected, and wait for its answer.
struct Hall {
  CaptureBuilder job = CaptureBuilder({"n0"}, 4);

  Hall() {
    ThreadSpec accepts = waiting_on(WaitOn::kSocket, "socket:[8]");
    accepts.wait.syscall = "accept4";
    job.thread(job.rank(0, "n0", pid_of(0)), accepts);
    for (const std::int32_t rank : {1, 2, 3}) {
      job.thread(job.rank(rank, "n0", pid_of(rank)),
                 rank == 2 ? tests::at_python_lock() : tests::asking_rank(0));
    }
    listens_at("0.0.0.0:8400");
    for (const std::int32_t rank : {1, 3}) {
      wait(rank).rare.edit().peer = job.capture.tables.string("10.0.0.1:8400");
    }
  }
  void listens_at(std::string_view local) {
    auto& awaited = wait(0).rare.edit().awaited;
    awaited.resize(1);
    awaited.front().local = job.capture.tables.string(local);
    awaited.front().state = snapshot::kTcpListens;
    wait(0).rare.edit().awaited_count = 1;
  }
  snapshot::Wait& wait(std::int32_t rank) { return job.process(pid_of(rank)).threads.front().wait; }
  RankNumbers named() const { return tests::named_in(job); }
};

}  // namespace

TEST_CASE("accepting ranks: the one that has not connected is named, and only as possible") {
  Hall hall;
  SECTION("in accept()") {}
  SECTION("in select() at its listening socket") {
    hall.wait(0).how = WaitHow::kFiles;
    hall.wait(0).syscall_name = hall.job.capture.tables.string("select");
  }
  SECTION("at a local socket") {
    hall.listens_at("");
    for (const std::int32_t rank : {1, 3}) {
      hall.wait(rank).rare.edit().peer = {};
    }
  }
  const Verdict verdict = diagnose(hall.job.capture).verdict;
  INFO(verdict.summary);
  CHECK(hall.named() == RankNumbers{2});
  CHECK(verdict.confidence == Confidence::kPossible);
}

TEST_CASE("accepting ranks: connections to another port show nothing") {
  Hall hall;
  hall.listens_at("0.0.0.0:9");
  CHECK(hall.named().empty());
}

TEST_CASE("accepting ranks: one that waits for a client too many is named itself") {
  Hall hall;
  hall.wait(2) = hall.wait(1);
  CHECK(hall.named() == RankNumbers{0});
}

TEST_CASE("accepting ranks: one to which nobody connects may be idle, unless it owes its part") {
  Hall hall;
  ThreadSpec waits = tests::in_all_reduce();
  const bool gives_work = GENERATE(true, false);
  if (gives_work) {
    waits.call->op = "broadcast";
    waits.call->root = 0;
  }
  for (const std::int32_t rank : {1, 2, 3}) {
    tests::replace(hall.job, rank, waits);
  }
  const Verdict verdict = diagnose(hall.job.capture).verdict;
  INFO(verdict.summary);
  if (gives_work) {
    CHECK(verdict.kind == Kind::kUnknown);
    CHECK(verdict.summary.find("it is idle, if it is a server") != std::string::npos);
  } else {
    CHECK(hall.named() == RankNumbers{0});
    CHECK(verdict.confidence == Confidence::kPossible);
  }
}

// Rank 0 waits until its other thread, which listens, has got something; ranks 1 and 3 wait for an
// answer of rank 0.
CaptureBuilder open_hall(const ThreadSpec& of_rank_2, const ThreadSpec& of_rank_3) {
  CaptureBuilder job({"n0"}, 4);
  snapshot::ProcessCapture& server = job.rank(0, "n0", pid_of(0));
  job.thread(server, tests::at_python_lock());
  ThreadSpec listens = waiting_on(WaitOn::kSocket);
  listens.python_name = "Thread-1 (serve_forever)";
  snapshot::Wait& wait = job.thread(server, listens).wait;
  snapshot::AwaitedFile& file = wait.rare.edit().awaited.emplace_back();
  file.state = snapshot::kTcpListens;
  file.local = job.capture.tables.string("0.0.0.0:8400");
  wait.rare.edit().awaited_count = 1;
  job.thread(job.rank(1, "n0", pid_of(1)), tests::asking_rank(0));
  job.thread(job.rank(2, "n0", pid_of(2)), of_rank_2);
  job.thread(job.rank(3, "n0", pid_of(3)), of_rank_3);
  return job;
}

TEST_CASE("open ranks: the only one that does something else is to send what is missing") {
  const CaptureBuilder job = open_hall(tests::sleeping(), tests::asking_rank(0));
  const Verdict verdict = diagnose(job.capture).verdict;
  INFO(verdict.summary);
  CHECK(tests::named_in(job) == RankNumbers{2});
  CHECK(verdict.confidence == Confidence::kPossible);
}

TEST_CASE("open ranks: of two that may send, or one that waits itself, nobody is named") {
  CHECK(tests::named_in(open_hall(tests::sleeping(), tests::sleeping())).empty());
  CHECK(tests::named_in(open_hall(tests::at_python_lock(), tests::asking_rank(0))).empty());
}

}  // namespace oddrank::aggregate
