// One test per rule: the smallest change to a made-up job that triggers it, and changes that must
// not.
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <vector>

#include "aggregate/diagnose.h"
#include "tests/support/catch.h"
#include "tests/support/hung_jobs.h"

namespace oddrank::aggregate {

using snapshot::CallKind;
using snapshot::Known;
using snapshot::WaitOn;
using tests::CaptureBuilder;
using tests::eight_ranks;
using tests::Frames;
using tests::in_all_reduce;
using tests::pid_of;
using tests::py;
using tests::replace;
using tests::ThreadSpec;
using tests::waiting_on;

namespace {

Verdict verdict_of(const CaptureBuilder& job) {
  return diagnose(job.capture).verdict;
}

// Returns the one culprit's rank; -1 if there is none or more than one.
std::int32_t culprit(const Verdict& verdict) {
  return verdict.culprits.size() == 1 ? verdict.culprits[0].rank : -1;
}

std::vector<std::int32_t> culprits(const Verdict& verdict) {
  std::vector<std::int32_t> ranks;
  for (const Culprit& one : verdict.culprits) {
    ranks.push_back(one.rank);
  }
  return ranks;
}

ThreadSpec in_call(std::string_view op, std::string_view group, std::vector<std::int32_t> members) {
  ThreadSpec spec = in_all_reduce();
  spec.call = tests::CallSpec{};
  spec.call->op = op;
  spec.call->group = group;
  spec.call->members = std::move(members);
  return spec;
}

CaptureBuilder with(std::int32_t rank, const ThreadSpec& spec) {
  CaptureBuilder job = eight_ranks(in_all_reduce());
  replace(job, rank, spec);
  return job;
}

}  // namespace

TEST_CASE("input_stall: without a known worker it is no more than likely") {
  const Verdict verdict = verdict_of(with(5, tests::in_loader(0)));
  CHECK(verdict.kind == Kind::kInputStall);
  CHECK(verdict.confidence == Confidence::kLikely);
  CHECK(culprit(verdict) == 5);
}

TEST_CASE("input_stall: a worker that works may just be slow") {
  CaptureBuilder job = tests::input_stall_job();
  CHECK(verdict_of(job).confidence == Confidence::kCertain);
  auto& worker = job.process(3380);
  worker.threads.clear();
  job.thread(worker, tests::computing());
  const Verdict verdict = verdict_of(job);
  CHECK(verdict.kind == Kind::kInputStall);
  CHECK(verdict.confidence == Confidence::kPossible);
}

TEST_CASE("input_stall: by its frames alone, if the wait shows only a pipe") {
  ThreadSpec spec = tests::in_loader(0);
  spec.wait.on = WaitOn::kPipe;
  CHECK(verdict_of(with(5, spec)).kind == Kind::kInputStall);
}

TEST_CASE("input_stall: all ranks, if no rank is in a call") {
  const Verdict verdict = verdict_of(eight_ranks(tests::in_loader(0)));
  CHECK(verdict.kind == Kind::kInputStall);
  CHECK(verdict.culprits.size() == 8);
}

TEST_CASE("input_stall: a guessed group makes it possible at most") {
  ThreadSpec unknown = in_all_reduce();
  unknown.call->whole_world = false;
  CaptureBuilder job = eight_ranks(unknown);
  replace(job, 5, tests::in_loader(0));
  const Verdict verdict = verdict_of(job);
  CHECK(verdict.kind == Kind::kInputStall);
  CHECK(verdict.confidence == Confidence::kPossible);
}

TEST_CASE("child_deadlock: a dead worker, also one that is not named as holder") {
  CHECK(verdict_of(tests::child_deadlock_job()).confidence == Confidence::kCertain);
  CaptureBuilder job = with(5, tests::in_loader(0));
  job.child(pid_of(5), "n2", 3380).state = 'Z';
  const Verdict verdict = verdict_of(job);
  CHECK(verdict.kind == Kind::kChildDeadlock);
  CHECK(verdict.confidence == Confidence::kLikely);
  CHECK(verdict.culprits[0].waits_for.pid == 3380);
}

TEST_CASE("child_deadlock: a lock that a single-threaded child inherited") {
  CaptureBuilder job = tests::input_stall_job();
  auto& child = job.process(3380);
  child.threads.clear();
  ThreadSpec spec = waiting_on(WaitOn::kLock);
  job.thread(child, spec);
  CHECK(verdict_of(job).kind == Kind::kChildDeadlock);
  SECTION("a worker that waits for work is idle, and no deadlock") {
    child.threads.clear();
    spec.frames = {tests::py("Queue.get", "/usr/lib/python3.11/multiprocessing/queues.py", 103)};
    job.thread(child, spec);
    CHECK(verdict_of(job).kind == Kind::kInputStall);
  }
  SECTION("a child with threads of its own may release it") {
    job.thread(child, tests::sleeping());
    CHECK(verdict_of(job).kind == Kind::kInputStall);
  }
}

TEST_CASE("io_stall: state D in one sample alone is a short access") {
  CaptureBuilder job = tests::io_stall_job();
  CHECK(verdict_of(job).confidence == Confidence::kCertain);
  job.process(pid_of(6)).threads[0].samples.edit(0).state = 'S';
  CHECK(verdict_of(job).confidence <= Confidence::kPossible);
}

TEST_CASE("io_stall: a rank in state D that could be read only in part") {
  CaptureBuilder job = tests::io_stall_job();
  auto& process = job.process(pid_of(6));
  process.threads.clear();
  process.read = snapshot::ReadState::kPartial;
  process.state = 'D';
  const Verdict verdict = verdict_of(job);
  CHECK(verdict.kind == Kind::kIoStall);
  CHECK(culprit(verdict) == 6);
}

TEST_CASE("a rank whose Python stack was read is judged by it, whatever else could not be read") {
  CaptureBuilder job = with(4, tests::sleeping());
  const Verdict whole = verdict_of(job);
  job.process(pid_of(4)).read = snapshot::ReadState::kPartial;
  job.process(pid_of(4)).why = job.capture.tables.string("its files did not answer");
  const Diagnosis report = diagnose(job.capture);
  CHECK(report.verdict.kind == whole.kind);
  CHECK(culprit(report.verdict) == 4);
  CHECK((report.coverage.read == 7 && report.coverage.partial == 1));
  REQUIRE(report.coverage.unread.size() == 1);
  CHECK(report.coverage.unread[0].why == "its files did not answer");
}

TEST_CASE("file_lock, device_stall and external_wait need their evidence") {
  ThreadSpec spec = waiting_on(WaitOn::kFileLock);
  spec.wait.path = "/home/ada/.cache/build/lock";
  spec.wait.holder_alive = Known::kNo;
  Verdict verdict = verdict_of(with(4, spec));
  CHECK(verdict.kind == Kind::kFileLock);
  CHECK(verdict.summary.find("stale") == std::string::npos);
  const auto removes = [&verdict] {
    return std::any_of(verdict.advice.begin(), verdict.advice.end(), [](const Advice& advice) {
      return advice.text.find("rm ") != std::string::npos;
    });
  };
  CHECK_FALSE(removes());  // a lock of flock() always has a holder
  spec.wait.how = snapshot::WaitHow::kLockFile;
  verdict = verdict_of(with(4, spec));
  CHECK(verdict.summary.find("stale") != std::string::npos);
  CHECK(removes());

  CHECK(verdict_of(with(4, waiting_on(WaitOn::kDevice))).kind == Kind::kDeviceStall);

  spec = waiting_on(WaitOn::kSocket);
  CHECK(verdict_of(with(4, spec)).kind == Kind::kSkippedCollective);
  spec.frames = {tests::py("recv_into", "/usr/lib/python3.11/ssl.py", 1134),
                 tests::py("do_it", "/home/ada/demo/train.py", 7)};
  verdict = verdict_of(with(4, spec));
  CHECK(verdict.kind == Kind::kExternalWait);
  CHECK(culprit(verdict) == 4);
}

TEST_CASE("external_wait: a connection whose other end no rank has, if all were read") {
  CaptureBuilder job = with(4, waiting_on(WaitOn::kSocket));
  auto& wait = job.process(pid_of(4)).threads[0].wait;
  wait.rare.edit().local = job.capture.tables.string("10.0.0.4:50000");
  wait.rare.edit().peer = job.capture.tables.string("192.0.2.1:443");
  wait.rare.edit().awaited.resize(1);
  wait.rare.edit().awaited_count = 1;
  wait.rare.edit().awaited[0].received_ms = 64'999;
  wait.rare.edit().awaited[0].sent_ms = 64'000;
  wait.rare.edit().awaited[0].tls = true;
  const Verdict verdict = verdict_of(job);
  CHECK(verdict.kind == Kind::kExternalWait);
  CHECK(verdict.confidence == Confidence::kPossible);
  CHECK(culprit(verdict) == 4);
  CHECK(verdict.summary.find("(TCP to 192.0.2.1:443, nothing received for 64 s, over TLS)") !=
        std::string::npos);
  SECTION("a rank that was not read may have it") {
    job.process(pid_of(2)).read = snapshot::ReadState::kNone;
    job.process(pid_of(2)).threads.clear();
    CHECK(verdict_of(job).kind != Kind::kExternalWait);
  }
}

TEST_CASE("failed_rank: a debugger's prompt; not the end of all ranks") {
  ThreadSpec spec = tests::sleeping();
  spec.frames = {tests::py("Pdb.interaction", "/usr/lib/python3.11/pdb.py", 371)};
  const Verdict verdict = verdict_of(with(1, spec));
  CHECK(verdict.kind == Kind::kFailedRank);
  CHECK(culprit(verdict) == 1);
  CHECK(verdict_of(eight_ranks(spec)).kind == Kind::kUnknown);
}

TEST_CASE("stopped_rank: all of them, when the job was suspended; and by a tracer") {
  ThreadSpec stopped = in_all_reduce();
  stopped.state = 'T';
  Verdict verdict = verdict_of(eight_ranks(stopped));
  CHECK(verdict.kind == Kind::kStoppedRank);
  CHECK(verdict.culprits.size() == 8);
  stopped.state = 't';
  stopped.wait.on = WaitOn::kDebugger;
  stopped.wait.holder_pid = 4242;
  verdict = verdict_of(with(3, stopped));
  CHECK(verdict.summary.find("tracer, pid 4242") != std::string::npos);
  CHECK(verdict.culprits[0].waits_for.what == WaitOn::kDebugger);
}

TEST_CASE("stopped_rank: a stop that is younger than the waits did not begin them") {
  ThreadSpec stopped = in_all_reduce();
  stopped.state = 'T';
  CaptureBuilder job = with(3, stopped);
  for (std::int32_t rank = 0; rank < 8; ++rank) {
    job.process(pid_of(rank)).threads[0].wait.quiet_ms = 14'000;
  }
  const auto is_younger = [&job] {
    return verdict_of(job).summary.find("they have waited for 14 s") != std::string::npos;
  };
  CHECK_FALSE(is_younger());
  job.process(pid_of(3)).threads[0].wait.quiet_ms = 5'000;
  CHECK(is_younger());
  job.process(pid_of(6)).threads[0].wait.quiet_ms = 6'000;
  CHECK_FALSE(is_younger());  // one of them waits no longer than that
}

TEST_CASE("missing_rank: certain if the launcher put it there, or if it is a zombie") {
  CaptureBuilder job = tests::missing_rank_job();
  CHECK(verdict_of(job).confidence == Confidence::kLikely);
  job.capture.nodes[3].expected_ranks = {6, 7};
  CHECK(verdict_of(job).confidence == Confidence::kCertain);

  job = eight_ranks(in_all_reduce());
  auto& dead = job.process(pid_of(4));
  dead.threads.clear();
  dead.state = 'Z';
  dead.exit_code = 11;
  const Verdict verdict = verdict_of(job);
  CHECK(verdict.kind == Kind::kMissingRank);
  CHECK(verdict.confidence == Confidence::kCertain);
  CHECK(verdict.summary.find("killed by signal 11") != std::string::npos);
}

// Seen on a real job half an hour after it hung: gloo's timeout had ended the seven waiters.
TEST_CASE("missing_rank: those that a watchdog ended are not blamed for the one that is left") {
  CaptureBuilder job = tests::input_stall_job();
  std::erase_if(job.capture.processes,
                [](const snapshot::ProcessCapture& process) { return process.rank != 5; });
  const Verdict verdict = verdict_of(job);
  CHECK(verdict.kind == Kind::kInputStall);
  REQUIRE(verdict.culprits.size() == 1);
  CHECK(verdict.culprits[0].rank == 5);
}

TEST_CASE(
    "missing_rank: if most are gone and nobody waits for them, they may have ended in order") {
  CaptureBuilder job = eight_ranks(in_all_reduce());
  replace(job, 5, tests::sleeping());
  std::erase_if(job.capture.processes,
                [](const snapshot::ProcessCapture& process) { return process.rank != 5; });
  CHECK(verdict_of(job).culprits.empty());
}

TEST_CASE("missing_rank: possible if nobody waits for it and one that is left can move by itself") {
  CaptureBuilder job = eight_ranks(tests::waiting_on(WaitOn::kUnknown));
  replace(job, 5, tests::sleeping());
  std::erase_if(job.capture.processes,
                [](const snapshot::ProcessCapture& process) { return process.rank == 0; });
  CHECK(verdict_of(job).confidence <= Confidence::kPossible);
}

TEST_CASE(
    "missing_rank: most have failed, and nobody waits for them: one that is left may be why") {
  for (const int exit_code : {0, 1, 134}) {
    CaptureBuilder job = eight_ranks(in_all_reduce());
    replace(job, 5, tests::sleeping());
    for (snapshot::ProcessCapture& process : job.capture.processes) {
      if (process.rank != 5) {
        process.state = 'Z';
        process.exit_code = exit_code;
        process.read = snapshot::ReadState::kNone;
        process.threads.clear();
      }
    }
    const Verdict verdict = verdict_of(job);
    CHECK(verdict.confidence <= Confidence::kPossible);
  }
}

TEST_CASE("missing_rank: a silent node is no evidence") {
  CaptureBuilder job = eight_ranks(in_all_reduce());
  job.silence("n3", "node did not answer in 20 s");
  const Verdict verdict = verdict_of(job);
  CHECK(verdict.kind == Kind::kUnknown);
  CHECK(verdict.culprits.empty());
}

TEST_CASE("rendezvous: a rank that was launched and is gone is missing_rank") {
  CaptureBuilder job = tests::rendezvous_job();
  job.capture.nodes[3].expected_ranks = {6, 7};
  CHECK(verdict_of(job).kind == Kind::kMissingRank);
}

TEST_CASE("rendezvous: a rank that is elsewhere, while all others initialise") {
  CaptureBuilder job = eight_ranks(tests::in_store());
  replace(job, 2, tests::sleeping());
  const Verdict verdict = verdict_of(job);
  CHECK(verdict.kind == Kind::kRendezvous);
  CHECK(verdict.confidence == Confidence::kPossible);
  CHECK(culprit(verdict) == 2);
}

TEST_CASE("skipped_collective: the smaller sequence number is behind") {
  CaptureBuilder job = tests::below_host_job();
  for (const std::int32_t rank : {0, 5}) {
    job.process(pid_of(rank)).threads[0].call->sequence = 1206;
  }
  const Verdict verdict = verdict_of(job);
  CHECK(verdict.kind == Kind::kSkippedCollective);
  CHECK(verdict.confidence == Confidence::kCertain);
  CHECK(culprits(verdict) == std::vector<std::int32_t>{0, 5});
}

// Gloo ends an all_reduce of fewer numbers than the others' on the rank that gave them, and on no
// other (tests/live/numbers_test.py): seven ranks are behind because of one.
TEST_CASE("skipped_collective: if most ranks are behind, those that are ahead deviate") {
  CaptureBuilder job = tests::below_host_job();
  for (const std::int32_t rank : {0, 1, 2, 3, 4, 5}) {
    job.process(pid_of(rank)).threads[0].call->sequence = 1206;
  }
  const Verdict verdict = verdict_of(job);
  CHECK(verdict.kind == Kind::kSkippedCollective);
  CHECK(verdict.confidence == Confidence::kLikely);
  CHECK(culprits(verdict) == std::vector<std::int32_t>{6, 7});
}

TEST_CASE("skipped_collective: without numbers the minority, and both sides of a tie") {
  ThreadSpec barrier = in_all_reduce();
  barrier.call->op = "barrier";
  CaptureBuilder job = with(0, barrier);
  Verdict verdict = verdict_of(job);
  CHECK(verdict.kind == Kind::kSkippedCollective);
  CHECK(verdict.confidence == Confidence::kLikely);
  CHECK(culprit(verdict) == 0);
  for (const std::int32_t rank : {1, 2, 3}) {
    replace(job, rank, barrier);
  }
  verdict = verdict_of(job);
  CHECK(verdict.confidence == Confidence::kPossible);
  CHECK(verdict.culprits.size() == 8);
}

TEST_CASE(
    "skipped_collective: who gets something that nobody gives is elsewhere, who takes is not") {
  ThreadSpec rooted = in_all_reduce();
  rooted.call->op = "broadcast";
  CaptureBuilder job = with(0, rooted);
  Verdict verdict = verdict_of(job);
  CHECK(verdict.kind == Kind::kSkippedCollective);
  CHECK(verdict.confidence == Confidence::kPossible);
  CHECK(culprits(verdict) == std::vector<std::int32_t>{0});
  SECTION("so if another one is known to give") {
    rooted.call->root = 5;
    replace(job, 0, rooted);
    CHECK(culprits(verdict_of(job)) == std::vector<std::int32_t>{0});
  }
  SECTION("one that gives may wait for any of the others") {
    rooted.call->root = 0;
    replace(job, 0, rooted);
    CHECK(verdict_of(job).culprits.empty());
  }
  SECTION("so may one that takes") {
    rooted.call->op = "gather";
    replace(job, 0, rooted);
    CHECK(verdict_of(job).culprits.empty());
  }
}

TEST_CASE("mismatched_collective: one number, two operations") {
  CaptureBuilder job = tests::below_host_job();
  job.process(pid_of(3)).threads[0].call->op = job.capture.tables.string("broadcast");
  const Verdict verdict = verdict_of(job);
  CHECK(verdict.kind == Kind::kMismatchedCollective);
  CHECK(culprit(verdict) == 3);
}

TEST_CASE("collective_order: two groups, entered in different order") {
  CaptureBuilder job = eight_ranks(in_call("all_reduce", "a", {0, 1, 2, 3, 4, 5, 6, 7}));
  replace(job, 2, in_call("all_gather", "b", {2, 3}));
  const Verdict verdict = verdict_of(job);
  CHECK(verdict.kind == Kind::kCollectiveOrder);
  CHECK(verdict.culprits.size() == 2);  // only ranks 2 and 3 could choose the order
}

TEST_CASE("p2p_order: both receive, and the whole circle is named") {
  ThreadSpec receive = in_call("recv", "", {});
  receive.call->kind = CallKind::kRecv;
  receive.call->peer = 1;
  CaptureBuilder job = with(0, receive);
  receive.call->peer = 0;
  replace(job, 1, receive);
  const Verdict verdict = verdict_of(job);
  CHECK(verdict.kind == Kind::kP2pOrder);
  CHECK(culprits(verdict) == std::vector<std::int32_t>{0, 1});
}

// Returns the verdict on ranks 0 and 1, which receive from each other, spinning.
Verdict verdict_of_spinning(bool python, std::size_t samples, std::int64_t transfers) {
  ThreadSpec receive = in_call("recv", "pair", {0, 1});
  receive.call->kind = CallKind::kRecv;
  receive.call->peer = 1;
  receive.state = 'R';
  receive.cpu_step_us = 500'000;
  receive.has_python = python;
  CaptureBuilder job = with(0, receive);
  receive.call->peer = 0;
  replace(job, 1, receive);
  for (auto& process : job.capture.processes) {
    auto& group = process.groups.emplace_back();
    group.name = job.capture.tables.string("pair");
    group.counters.push_back({{}, -1, transfers, -1, transfers, true});
    auto& of_decider = process.threads[0].samples;
    of_decider = snapshot::SampleList(samples, of_decider.back());
  }
  return verdict_of(job);
}

// A tight loop of sends and receives looks like a circle in every sample, since the ranks are read
// one after the other.
TEST_CASE("p2p_order: threads that spin may have made other calls in between") {
  constexpr std::int64_t kUncounted = -1;
  CHECK(verdict_of_spinning(false, 5, kUncounted).culprits.empty());
  CHECK(verdict_of_spinning(true, 2, kUncounted).confidence == Confidence::kPossible);
  CHECK(verdict_of_spinning(true, 3, kUncounted).confidence == Confidence::kLikely);
  CHECK(verdict_of_spinning(false, 2, 7).confidence == Confidence::kCertain);
  CHECK(verdict_of_spinning(false, 2, 7).kind == Kind::kP2pOrder);
}

// Ranks 0 and 1 each have one part of a window and ask for another; the others have none.
TEST_CASE("p2p_order: locks of a window, whose holder is one of several") {
  CaptureBuilder job = with(0, in_call("barrier", "", {}));
  using Ranks = std::vector<std::int32_t>;
  const auto lock = [&job](std::int32_t rank, std::int32_t wanted, Ranks had, Ranks peers) {
    ThreadSpec spec = in_call("win_lock", "window", {0, 1, 2, 3});
    spec.call->kind = CallKind::kRecv;
    spec.call->wants_window = wanted;
    spec.call->has_windows = std::move(had);
    spec.call->peers = std::move(peers);
    spec.state = 'R';
    spec.cpu_step_us = 500'000;
    replace(job, rank, spec);
  };
  lock(0, 3, {2}, {1, 2, 3});
  lock(1, 2, {3}, {0, 2, 3});
  const Verdict verdict = verdict_of(job);
  CHECK(verdict.kind == Kind::kP2pOrder);
  CHECK(culprits(verdict) == std::vector<std::int32_t>{0, 1});
  CHECK(verdict.summary.find("rank 0 in win_lock of rank 3's window, with that of 2 locked") !=
        std::string::npos);
  lock(0, 3, {}, {1, 2, 3});
  lock(1, 2, {}, {0, 2, 3});  // it may be any of the others
  CHECK(culprits(verdict_of(job)).empty());
}

// The collectives of all ranks are made by a thread that began after the first sample.
TEST_CASE("a thread for each step: its calls are not those in which the rank was before") {
  CaptureBuilder job = with(3, tests::sleeping());
  REQUIRE(culprits(verdict_of(job)) == std::vector<std::int32_t>{3});
  for (auto& process : job.capture.processes) {
    snapshot::ThreadCapture old = process.threads[0];
    old.tid += 1000;
    old.call.reset();
    process.threads[0].samples = {process.threads[0].samples.back()};
    process.threads[0].wait.quiet_ms = 20;
    process.threads.push_back(std::move(old));
  }
  CHECK(verdict_of(job).kind == Kind::kHealthy);
}

TEST_CASE("busy_rank: only if another rank waits for it") {
  CaptureBuilder job = tests::busy_rank_job();
  CHECK(verdict_of(job).kind == Kind::kBusyRank);
  CHECK(verdict_of(job).confidence == Confidence::kPossible);  // half a second of a step
  job.process(pid_of(1)).threads[0].samples.edit_back().cpu_us += 5'000'000;
  CHECK(verdict_of(job).confidence == Confidence::kLikely);
  const Verdict verdict = verdict_of(eight_ranks(tests::computing()));
  CHECK(verdict.kind == Kind::kHealthy);
  CHECK(verdict.culprits.empty());
}

TEST_CASE("busy_rank: not in the midst of a step, which looks the same") {
  CaptureBuilder job = tests::busy_rank_job();
  const auto let_wait = [&job](std::int64_t quiet_ms) {
    for (std::int32_t rank = 0; rank < 8; ++rank) {
      job.process(pid_of(rank)).threads[0].wait.quiet_ms = rank == 1 ? -1 : quiet_ms;
    }
  };
  let_wait(100);
  CHECK(verdict_of(job).culprits.empty());
  let_wait(5000);
  CHECK(verdict_of(job).kind == Kind::kBusyRank);
  let_wait(-1);  // unknown
  CHECK(verdict_of(job).kind == Kind::kBusyRank);
  for (std::int32_t rank = 0; rank < 8; ++rank) {  // they spin, for how long is not known
    job.process(pid_of(rank)).threads[0].samples.edit_back().state = 'R';
  }
  CHECK(verdict_of(job).culprits.empty());
}

TEST_CASE("healthy: not reported if one rank is still or was not read") {
  CaptureBuilder job = tests::healthy_job();
  CHECK(verdict_of(job).kind == Kind::kHealthy);
  CaptureBuilder silent = tests::healthy_job();
  silent.silence("n1", "timed out");
  CHECK(verdict_of(silent).kind == Kind::kUnknown);
  replace(job, 2, tests::sleeping());
  CHECK(verdict_of(job).kind != Kind::kHealthy);
}

TEST_CASE("healthy: threads that wait in a call beside the program's are told, and not sure") {
  CaptureBuilder job = tests::healthy_job();
  for (const std::int32_t rank : {1, 2}) {
    job.thread(job.process(pid_of(rank)), in_all_reduce());
    job.process(pid_of(rank)).threads.back().wait.quiet_ms = 1000;
  }
  CHECK(verdict_of(job).summary.find("nothing hangs") != std::string::npos);
  for (const std::int32_t rank : {1, 2}) {
    job.process(pid_of(rank)).threads.back().wait.quiet_ms = 60'000;
  }
  const Verdict verdict = verdict_of(job);
  CHECK(verdict.kind == Kind::kHealthy);
  CHECK(verdict.confidence == Confidence::kLikely);
  CHECK(verdict.culprits.empty());
  CHECK(verdict.summary.find(
            "other threads of ranks 1-2 have waited for more than 5 s in all_reduce") !=
        std::string::npos);
}

// Horovod in small: a thread of each rank negotiates on and on, and the main thread waits for what
// never gets ready.
TEST_CASE("healthy: calls of other threads, while the main threads stand at an event") {
  const auto job_of = [](std::int64_t quiet_ms) {
    ThreadSpec waits;
    waits.frames = {tests::py("Event.wait", "/usr/lib/python3.11/threading.py", 629),
                    tests::py("synchronize", "/job/optimizer.py", 40)};
    waits.wait.on = WaitOn::kLock;
    waits.wait.how = snapshot::WaitHow::kPythonLock;
    CaptureBuilder job = eight_ranks(waits);
    for (auto& process : job.capture.processes) {
      process.threads[0].wait.quiet_ms = quiet_ms;
      auto& group = process.groups.emplace_back();
      group.counters.push_back({{}, 90, -1, 80, -1, false});
    }
    return verdict_of(job);
  };
  CHECK(job_of(2000).kind == Kind::kHealthy);
  CHECK(job_of(2000).confidence == Confidence::kLikely);
  CHECK(job_of(9000).kind == Kind::kHealthy);
  CHECK(job_of(9000).confidence == Confidence::kPossible);
  CHECK(job_of(9000).summary ==
        "other threads of all 8 ranks make calls, but the main threads have waited for more than "
        "5 s in synchronize (job/optimizer.py:40)");
}

TEST_CASE("healthy: a step that is sampled in the same line twice names no rank") {
  ThreadSpec steps = in_all_reduce();
  steps.cpu_step_us = 60'000;
  steps.switch_step = 80;
  CaptureBuilder job = eight_ranks(steps);
  ThreadSpec late = tests::training_on();
  replace(job, 3, late);
  CHECK(verdict_of(job).culprits.empty());
}

TEST_CASE("healthy: a tight loop is seen in its collective each time, and counts on") {
  CaptureBuilder job = eight_ranks(in_all_reduce());
  const auto count_on = [&job](std::int32_t rank) {
    job.process(pid_of(rank)).threads[0].samples.edit_back().locals_changed = true;
  };
  for (std::int32_t rank = 0; rank < 7; ++rank) {
    count_on(rank);
  }
  CHECK(verdict_of(job).kind != Kind::kHealthy);
  count_on(7);
  CHECK(verdict_of(job).kind == Kind::kHealthy);
  CHECK(verdict_of(job).confidence == Confidence::kLikely);
  for (std::int32_t rank = 0; rank < 8; ++rank) {  // they try again and again to meet
    job.process(pid_of(rank)).threads[0].call->kind = snapshot::CallKind::kRendezvous;
  }
  CHECK(verdict_of(job).kind != Kind::kHealthy);
}

// The last rank is the straggler in all samples.
CaptureBuilder straggler_job(std::int32_t ranks, std::size_t samples) {
  ThreadSpec waits = in_all_reduce();
  waits.cpu_step_us = 60'000;
  waits.switch_step = 80;
  CaptureBuilder job({"n0", "n1", "n2", "n3"}, ranks);
  job.samples = samples;
  for (std::int32_t rank = 0; rank < ranks; ++rank) {
    job.thread(job.rank(rank, tests::host_of(rank), pid_of(rank)),
               rank == ranks - 1 ? tests::training_on() : waits);
  }
  return job;
}

TEST_CASE("slow: the same straggler in three samples of a job that moves") {
  const Verdict verdict = verdict_of(straggler_job(8, 3));
  CHECK(verdict.kind == Kind::kSlow);
  CHECK(culprit(verdict) == 7);
}

TEST_CASE("slow: among few ranks the same one is the last by chance") {
  for (const auto& [ranks, few, enough] :
       std::vector<std::tuple<std::int32_t, std::size_t, std::size_t>>{{3, 4, 5}, {4, 3, 4}}) {
    INFO(ranks << " ranks");
    CHECK(verdict_of(straggler_job(ranks, few)).kind == Kind::kHealthy);
    CHECK(verdict_of(straggler_job(ranks, few)).culprits.empty());
    CHECK(verdict_of(straggler_job(ranks, enough)).kind == Kind::kSlow);
  }
}

TEST_CASE("slow: the others wait for their devices, which wait for the straggler's") {
  CaptureBuilder job = straggler_job(8, 3);
  ThreadSpec waits = tests::waiting_on(WaitOn::kDevice);
  waits.frames = Frames{tests::native("cudaStreamSynchronize", "/usr/lib/libcudart.so.13")} +
                 Frames{py("train", "/home/u/train.py", 90)};
  waits.state = 'R';
  waits.cpu_step_us = 500'000;
  waits.call = in_all_reduce().call;  // as the recorder tells
  for (std::int32_t rank = 0; rank < 7; ++rank) {
    replace(job, rank, waits);
    job.process(pid_of(rank)).threads[0].samples.edit_back().locals_changed = true;
  }
  const Verdict verdict = verdict_of(job);
  INFO(verdict.summary);
  CHECK(verdict.kind == Kind::kSlow);
  CHECK(culprit(verdict) == 7);
}

TEST_CASE("slow: samples of one step count once") {
  CaptureBuilder job = straggler_job(8, 3);
  auto& samples = job.process(pid_of(0)).threads[0].samples;
  samples.edit(2) = samples.edit(1);  // one that waits has not run
  CHECK(verdict_of(job).culprits.empty());
}

TEST_CASE("slow: a rank that is stopped again and again, and runs in between") {
  ThreadSpec passes = in_all_reduce();
  passes.cpu_step_us = 60'000;
  passes.switch_step = 80;
  CaptureBuilder job({"n0"}, 3);
  job.samples = 4;
  for (std::int32_t rank = 0; rank < 3; ++rank) {
    job.thread(job.rank(rank, "n0", pid_of(rank)), passes);
    job.process(pid_of(rank)).threads[0].samples.edit_back().locals_changed = true;
  }
  CHECK(verdict_of(job).kind == Kind::kHealthy);
  auto& samples = job.process(pid_of(1)).threads[0].samples;
  samples.edit(1).state = 'T';
  CHECK(verdict_of(job).kind == Kind::kHealthy);
  samples.edit(3).state = 'T';
  const Verdict verdict = verdict_of(job);
  INFO(verdict.summary);
  CHECK(verdict.kind == Kind::kSlow);
  CHECK(culprit(verdict) == 1);
  CHECK(verdict.summary.find("stopped again and again (state T in 2 of 4 samples)") !=
        std::string::npos);
}

TEST_CASE("skipped_collective: counts tell who is behind, though no operation is known") {
  ThreadSpec waits = tests::waiting_on(WaitOn::kDevice);
  waits.call = in_all_reduce().call;
  waits.call->op.clear();
  waits.call->sequence = 42;
  CaptureBuilder job = eight_ranks(waits);
  replace(job, 3, tests::sleeping());
  for (const std::int64_t calls : {41, 42}) {
    snapshot::ProcessGroup group;
    group.name = job.capture.tables.string("0");
    group.is_default = true;
    group.counters.emplace_back().collectives = calls;
    job.process(pid_of(3)).groups = {group};
    const Verdict verdict = verdict_of(job);
    INFO(verdict.summary);
    CHECK((verdict.kind == Kind::kSkippedCollective) == (calls == 41));
    CHECK(culprit(verdict) == (calls == 41 ? 3 : -1));
  }
}

TEST_CASE("below_host: only with every rank, and likely only with numbers") {
  CHECK(verdict_of(tests::below_host_job()).confidence == Confidence::kLikely);
  const Verdict verdict = verdict_of(eight_ranks(in_all_reduce()));
  CHECK(verdict.kind == Kind::kBelowHost);
  CHECK(verdict.confidence == Confidence::kPossible);
  CHECK(verdict.culprits.empty());
}

TEST_CASE("below_host: a group that others wait for, with all members inside the call") {
  CaptureBuilder job = eight_ranks(in_all_reduce());
  for (const std::int32_t rank : {0, 1}) {
    replace(job, rank, in_call("all_gather", "tp", {0, 1}));
  }
  const Verdict verdict = verdict_of(job);
  CHECK(verdict.kind == Kind::kBelowHost);
  CHECK(verdict.culprits.empty());
}

TEST_CASE("skipped_collective: one rank in an unknown group, and all others wait for it") {
  const ThreadSpec opaque = in_call("barrier", "", {});
  const Verdict verdict = verdict_of(with(3, opaque));
  CHECK(verdict.kind == Kind::kSkippedCollective);
  CHECK(verdict.confidence == Confidence::kLikely);
  CHECK(culprit(verdict) == 3);
}

TEST_CASE("ranks in a call of an unknown group are not blamed if the group may be their own") {
  const ThreadSpec opaque = in_call("barrier", "", {});
  CaptureBuilder job = with(3, opaque);
  SECTION("two are in it") {
    replace(job, 4, opaque);
  }
  SECTION("a rank does not wait for it") {
    replace(job, 4, tests::sleeping());
    const Verdict verdict = verdict_of(job);
    CHECK(culprit(verdict) == 4);
    return;
  }
  SECTION("a rank was not read") {
    job.silence("n0", "timed out");
  }
  const Verdict verdict = verdict_of(job);
  CHECK(verdict.kind == Kind::kUnknown);
  CHECK(verdict.culprits.empty());
}

TEST_CASE("an unread rank lowers the confidence in a verdict on others") {
  CaptureBuilder job = tests::input_stall_job();
  job.silence("n0", "node did not answer in 20 s");
  const Verdict stall = verdict_of(job);
  CHECK(stall.kind == Kind::kInputStall);
  CHECK(stall.confidence == Confidence::kLikely);
  job = tests::skipped_collective_job();
  job.silence("n0", "node did not answer in 20 s");
  CHECK(verdict_of(job).confidence == Confidence::kPossible);
}

TEST_CASE("a second rank that others wait for is a verdict of its own") {
  CaptureBuilder job = tests::input_stall_job();
  replace(job, 3, tests::computing());
  const Verdict verdict = verdict_of(job);
  CHECK(verdict.kind == Kind::kInputStall);
  REQUIRE(verdict.also.size() == 1);
  CHECK(verdict.also[0].kind == Kind::kBusyRank);
  REQUIRE(verdict.also[0].culprits.size() == 1);
  CHECK(verdict.also[0].culprits[0].rank == 3);
}

}  // namespace oddrank::aggregate
