// Servers and event loops: which ranks they wait for, if others wait for them.

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

using Numbers = std::vector<std::int32_t>;

constexpr std::int32_t kClients = 3;
constexpr std::int64_t kOldMs = 9000;

// Rank 0 listens to all other ranks, in one call; each of these waits for its answer.
struct Star {
  CaptureBuilder job = CaptureBuilder({"n0"}, kClients + 1);

  Star() {
    ThreadSpec server = waiting_on(WaitOn::kSocket);
    server.wait.how = WaitHow::kFiles;
    server.wait.syscall = "epoll_wait";
    job.thread(job.rank(0, "n0", pid_of(0)), server);
    for (std::int32_t rank = 1; rank <= kClients; ++rank) {
      job.thread(job.rank(rank, "n0", pid_of(rank)), tests::asking_rank(0));
      snapshot::AwaitedFile& file = wait().rare.edit().awaited.emplace_back();
      file.holder_pid = pid_of(rank);
      file.received_ms = kOldMs;
      file.sent_ms = kOldMs + 500;
    }
    wait().rare.edit().awaited_count = kClients;
  }
  snapshot::Wait& wait() { return job.process(pid_of(0)).threads.front().wait; }
  Verdict verdict() const { return diagnose(job.capture).verdict; }
  Numbers named() const { return tests::named_in(job); }
};

}  // namespace

TEST_CASE("polled ranks: a server waits for the client that does not wait for it") {
  Star star;
  tests::replace(star.job, 2, tests::at_python_lock());
  CHECK(star.named() == Numbers{2});
  CHECK(star.verdict().confidence == Confidence::kLikely);
  // Another process may have to send something.
  star.wait().rare.edit().awaited.emplace_back();
  star.wait().rare.edit().awaited_count = kClients + 1;
  CHECK(star.named() == Numbers{2});
  CHECK(star.verdict().confidence == Confidence::kPossible);
}

TEST_CASE("polled ranks: of two clients that do not ask, the one that is held is named") {
  Star star;
  tests::replace(star.job, 1, tests::sleeping());
  tests::replace(star.job, 3, waiting_on(WaitOn::kFile, "/data/shard-3.tar"));
  for (const Culprit& one : star.verdict().culprits) {
    CHECK(one.rank != 0);
  }
}

TEST_CASE("polled ranks: a server that owes an answer to all is possible") {
  CHECK(Star().named() == Numbers{0});
}

TEST_CASE("polled ranks: nobody is named if a client may have had its answer") {
  Star star;
  SECTION("the server has sent it something since") {
    star.wait().rare.edit().awaited[1].sent_ms = kOldMs - 500;
  }
  SECTION("the kernel does not tell") {
    star.wait().rare.edit().awaited[1].received_ms = -1;
  }
  CHECK(star.verdict().kind == Kind::kUnknown);
}

TEST_CASE("polled ranks: of clients in event loops, the one whose turn it is holds the server up") {
  Star star;
  // Puts a client into an event loop. The client received `lead_ms` after it last sent; if that is
  // more than 0, the client is to send.
  const auto loops = [&star](std::int32_t rank, std::int64_t lead_ms) {
    ThreadSpec loop = waiting_on(WaitOn::kSocket, "socket:[7]");
    loop.wait.how = WaitHow::kFiles;
    loop.wait.holder_pid = pid_of(0);
    loop.wait.holder_alive = snapshot::Known::kYes;
    loop.wait.inferred = true;
    tests::replace(star.job, rank, loop);
    auto& rare = star.job.process(pid_of(rank)).threads.front().wait.rare.edit();
    rare.own_wakers = true;
    rare.awaited_count = 1;
    snapshot::AwaitedFile& file = rare.awaited.emplace_back();
    file.peer = star.job.capture.tables.string("10.0.0.1:5000");
    file.received_ms = kOldMs;
    file.sent_ms = kOldMs + lead_ms;
    const auto client = static_cast<std::size_t>(rank) - 1;
    snapshot::AwaitedFile& other = star.wait().rare.edit().awaited[client];
    other.sent_ms = kOldMs;
    other.received_ms = kOldMs + lead_ms;
  };
  loops(1, -12);
  loops(3, -8);
  SECTION("the one") {
    loops(2, 12);
    CHECK(star.named() == Numbers{2});
  }
  SECTION("within one tick of the kernel's clock, nobody") {
    loops(2, 0);
    CHECK(star.verdict().kind == Kind::kUnknown);
  }
}

TEST_CASE("polled ranks: event loops that listen to each other are no circle") {
  Star star;
  for (std::int32_t rank = 1; rank <= kClients; ++rank) {
    ThreadSpec loop = waiting_on(WaitOn::kSocket);
    loop.wait.how = WaitHow::kFiles;
    tests::replace(star.job, rank, loop);
    snapshot::Wait& wait = star.job.process(pid_of(rank)).threads.front().wait;
    for (std::int32_t other = 0; other <= kClients; ++other) {
      if (other != rank) {
        wait.rare.edit().awaited.emplace_back().holder_pid = pid_of(other);
      }
    }
    wait.rare.edit().awaited.emplace_back();  // where others may connect
    wait.rare.edit().awaited_count = wait.rare->awaited.size();
  }
  CHECK(star.named().empty());
}

TEST_CASE("polled ranks: a rank that also listens to its own worker may wait for that one") {
  Star star;
  tests::replace(star.job, 2, tests::at_python_lock());
  auto& worker = star.job.child(pid_of(0), "n0", 4100);
  star.job.thread(worker, tests::sleeping());
  star.wait().rare.edit().awaited.emplace_back().holder_pid = 4100;
  star.wait().rare.edit().awaited_count = kClients + 1;
  CHECK(star.verdict().confidence <= Confidence::kPossible);
}

}  // namespace oddrank::aggregate
