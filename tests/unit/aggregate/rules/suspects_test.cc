// The theory of blame, rule by rule: who may be named, before it is said why.
#include <algorithm>

#include "aggregate/diagnose.h"
#include "tests/support/catch.h"
#include "tests/support/hung_jobs.h"
#include "tests/support/named_in.h"

namespace oddrank::aggregate {

using snapshot::CallKind;
using snapshot::WaitOn;
using tests::CaptureBuilder;
using tests::eight_ranks;
using tests::in_all_reduce;
using tests::named_in;
using tests::pid_of;
using tests::replace;
using tests::ThreadSpec;
using tests::waiting_on;

namespace {

ThreadSpec in_broadcast(std::int32_t root) {
  ThreadSpec spec = in_all_reduce();
  spec.call->op = "broadcast";
  spec.call->root = root;
  return spec;
}

ThreadSpec receiving_from(std::int32_t peer) {
  ThreadSpec spec = in_all_reduce();
  spec.call = tests::CallSpec{};
  spec.call->op = "recv";
  spec.call->kind = CallKind::kRecv;
  spec.call->peer = peer;
  return spec;
}

ThreadSpec in_unknown_call(std::uint32_t line) {
  ThreadSpec spec = in_all_reduce();
  spec.frames.push_back(tests::py("step", "/home/ada/demo/train.py", line));
  spec.call = tests::CallSpec{};
  return spec;
}

using Named = std::vector<std::int32_t>;

}  // namespace

TEST_CASE("suspects: after a broadcast, ranks in two calls are a consequence of the late one") {
  CaptureBuilder job = eight_ranks(in_broadcast(0));
  replace(job, 0, in_all_reduce());  // the root has given its part and gone on
  replace(job, 4, in_all_reduce());  // so has one that had received it
  replace(job, 2, tests::sleeping());
  CHECK(named_in(job) == Named{2});
}

TEST_CASE("suspects: without numbers, nobody in a rooted call is said to be behind") {
  CaptureBuilder job = eight_ranks(in_all_reduce());
  const auto gathers = GENERATE(true, false);
  ThreadSpec rooted = in_broadcast(0);
  rooted.call->op = gathers ? "gather" : "broadcast";
  replace(job, 3, rooted);
  replace(job, 5, rooted);
  // The others cannot have got from a broadcast what these wait for.
  CHECK(named_in(job) == (gathers ? Named{} : Named{3, 5}));
}

TEST_CASE("suspects: of several that are in no call that waits for some members, nobody is named") {
  const auto* const operation =
      GENERATE("neighbors", "scan", "all_to_allv", "comm_create_group", "wait");
  ThreadSpec inside = in_all_reduce();
  inside.call->op = operation;
  CaptureBuilder job = eight_ranks(inside);
  replace(job, 3, tests::sleeping());
  CHECK(named_in(job) == Named{3});
  replace(job, 6, tests::sleeping());  // 3 or 6 may be no neighbour of those inside
  CHECK(named_in(job).empty());
  replace(job, 0, in_all_reduce());  // a call of all
  CHECK(named_in(job) == Named{3, 6});
}

TEST_CASE("suspects: a circle with a way out is a consequence") {
  CaptureBuilder job = eight_ranks(in_all_reduce());
  replace(job, 3, receiving_from(0));
  CHECK(named_in(job) == Named{0, 3});
  replace(job, 6, tests::sleeping());
  CHECK(named_in(job) == Named{6});
}

TEST_CASE("suspects: two independent roots of one kind are both named, each with its place") {
  CaptureBuilder job = eight_ranks(in_all_reduce());
  replace(job, 1, tests::sleeping());
  ThreadSpec other = tests::sleeping();
  other.frames.front() = tests::py("evaluate", "/home/ada/demo/eval.py", 81);
  replace(job, 6, other);
  CHECK(named_in(job) == Named{1, 6});
  const std::string summary = diagnose(job.capture).verdict.summary;
  INFO(summary);
  CHECK(summary.find("evaluate (demo/eval.py:81)") != std::string::npos);
  CHECK(summary.find("likewise") == std::string::npos);
}

TEST_CASE("suspects: a wait for somebody unknown is neither guilt nor alibi") {
  CaptureBuilder job = eight_ranks(in_all_reduce());
  replace(job, 5, waiting_on(WaitOn::kSocket));
  CHECK(named_in(job) == Named{5});
  CHECK(diagnose(job.capture).verdict.confidence == Confidence::kPossible);
  replace(job, 2, tests::sleeping());
  CHECK(named_in(job) == Named{2});
}

TEST_CASE("suspects: ranks that wait for no root have a story of their own") {
  CaptureBuilder job({"n0"}, 5);
  const auto add = [&job](std::int32_t rank, const ThreadSpec& thread) {
    job.thread(job.rank(rank, "n0", pid_of(rank)), thread);
  };
  add(0, tests::sleeping());
  add(1, receiving_from(0));
  add(2, receiving_from(3));
  add(3, receiving_from(GENERATE(4, 1)));
  add(4, waiting_on(WaitOn::kSocket));
  const Verdict verdict = diagnose(job.capture).verdict;
  INFO(verdict.summary);
  CHECK(named_in(job) == Named{0});
  const bool apart = job.process(pid_of(3)).threads.front().call->peer == 4;
  REQUIRE(verdict.also.size() == (apart ? 1 : 0));
  if (apart) {
    CHECK(verdict.also.front().culprits.front().rank == 4);
  }
}

TEST_CASE(
    "suspects: a rank that opens a named pipe may wait for a root, unless others need only it") {
  CaptureBuilder job({"n0"}, 4);
  const auto add = [&job](std::int32_t rank, const ThreadSpec& thread) {
    job.thread(job.rank(rank, "n0", pid_of(rank)), thread);
  };
  const std::int32_t needed = GENERATE(0, 2);
  ThreadSpec opens = waiting_on(WaitOn::kPipe, "/data/feed");
  opens.wait.wchan = "wait_for_partner";
  add(0, tests::sleeping());
  add(1, receiving_from(0));
  add(2, opens);
  add(3, receiving_from(needed));
  const Verdict verdict = diagnose(job.capture).verdict;
  INFO(verdict.summary);
  CHECK(named_in(job) == Named{0});
  REQUIRE(verdict.also.size() == (needed == 2 ? 1 : 0));
  if (needed == 2) {
    CHECK(verdict.also.front().culprits.front().rank == 2);
  }
}

TEST_CASE("suspects: native code that rests again and again may ask for something each time") {
  ThreadSpec naps = tests::sleeping();
  naps.frames = {tests::native("clock_nanosleep", "/lib/libc.so.6"),
                 tests::native("until_set", "/home/ada/demo/solver")};
  naps.has_python = false;
  ThreadSpec sleeps = naps;
  naps.switch_step = 400;
  ThreadSpec yields = naps;
  yields.frames.front() = tests::native("sched_yield", "/lib/libc.so.6");
  yields.state = 'R';
  yields.cpu_step_us = 480'000;
  yields.switch_step = 0;
  yields.wait = {};
  yields.wait.on = WaitOn::kNothing;
  CaptureBuilder job = eight_ranks(in_all_reduce());
  replace(job, 5, GENERATE_COPY(naps, yields));
  CHECK(named_in(job) == Named{5});
  CHECK(diagnose(job.capture).verdict.confidence == Confidence::kPossible);
  replace(job, 2, sleeps);
  CHECK(named_in(job) == Named{2});
  replace(job, 2, naps);  // each may wait for the other
  CHECK(named_in(job).empty());
}

TEST_CASE("suspects: a rank that asks again and again is not named before one that stands still") {
  CaptureBuilder job = eight_ranks(in_all_reduce());
  ThreadSpec asks = tests::sleeping();
  asks.switch_step = 3;
  replace(job, 0, asks);
  CHECK(named_in(job) == Named{0});
  replace(job, 3, tests::at_python_lock());  // nothing in its process can end that
  CHECK(named_in(job) == Named{3});
  ThreadSpec receives = waiting_on(WaitOn::kSocket);
  receives.python_name = "Thread-1";
  job.thread(job.process(pid_of(3)), receives).tid = 9000;  // this one may, by word of any rank
  CHECK(named_in(job).empty());
  job.process(pid_of(3)).threads.clear();
  job.process(pid_of(3)).read = snapshot::ReadState::kNone;
  CHECK(named_in(job).empty());
}

TEST_CASE(
    "suspects: a rank that sleeps in a loop is named before those that wait for their devices") {
  const auto on = GENERATE(WaitOn::kDevice, WaitOn::kLock);  // of a library's own, say
  CaptureBuilder job = eight_ranks(in_all_reduce());
  ThreadSpec loops = tests::sleeping();
  loops.switch_step = 3;
  replace(job, 3, loops);
  replace(job, 5, waiting_on(on));
  CHECK(named_in(job) == Named{3});
}

TEST_CASE("suspects: in one look, one that sleeps may ask for what another one does not do") {
  CaptureBuilder job = eight_ranks(in_all_reduce());
  job.samples = 1;
  for (std::int32_t rank = 1; rank < 8; ++rank) {
    replace(job, rank, in_all_reduce());
  }
  replace(job, 0, tests::sleeping());
  replace(job, 3, tests::at_python_lock());
  const Named named = named_in(job);
  CHECK(std::find(named.begin(), named.end(), 0) == named.end());
}

TEST_CASE("suspects: a rank that is at MPI's end will make no call that the others wait in") {
  CaptureBuilder job = eight_ranks(in_all_reduce());
  ThreadSpec ends = in_all_reduce();
  ends.call->op = "finalize";
  replace(job, 3, ends);
  CHECK(named_in(job) == Named{3});
  for (const std::int32_t rank : {0, 1, 2, 4, 6, 7}) {
    replace(job, rank, ends);
  }
  replace(job, 5, tests::sleeping());
  CHECK(named_in(job) == Named{5});  // all others are at the end, and wait for it there
}

TEST_CASE("suspects: if all ranks are in one rendezvous, the network is not to blame") {
  const CaptureBuilder job = eight_ranks(tests::in_store());
  const Verdict verdict = diagnose(job.capture).verdict;
  CHECK(verdict.kind == Kind::kUnknown);
  CHECK(verdict.summary.starts_with("all 8 ranks are in the "));
}

TEST_CASE("suspects: a named pipe that nobody opens may be a late rank's to open") {
  ThreadSpec opens = waiting_on(WaitOn::kFile, "/data/hand-over");
  opens.wait.syscall = "openat";
  opens.wait.wchan = "wait_for_partner";
  CaptureBuilder job = eight_ranks(in_all_reduce());
  replace(job, 6, opens);
  CHECK(named_in(job) == Named{6});
  const auto has_note = [&job] {
    const auto notes = diagnose(job.capture).notes;
    return std::any_of(notes.begin(), notes.end(), [](const std::string& note) {
      return note.starts_with("awaited as well") && note.find("rank 6") != std::string::npos;
    });
  };
  CHECK_FALSE(has_note());
  replace(job, 1, tests::sleeping());
  CHECK(named_in(job) == Named{1});
  CHECK(has_note());
}

TEST_CASE("suspects: of two that may wait for others, neither is named") {
  CaptureBuilder job = eight_ranks(in_all_reduce());
  replace(job, 5, waiting_on(WaitOn::kSocket));
  replace(job, 6, waiting_on(WaitOn::kPipe));
  CHECK(named_in(job).empty());
}

TEST_CASE(
    "suspects: of several that may wait for others, one that stopped long before is possible") {
  CaptureBuilder job = eight_ranks(in_all_reduce());
  replace(job, 5, waiting_on(WaitOn::kSocket));
  replace(job, 6, waiting_on(WaitOn::kPipe));
  const auto quiet_ms = [&job](std::int32_t rank) -> std::int64_t& {
    return job.process(pid_of(rank)).threads[0].wait.quiet_ms;
  };
  for (std::int32_t rank = 0; rank < 8; ++rank) {
    quiet_ms(rank) = 20'000 + 100 * rank;
  }
  CHECK(named_in(job).empty());
  quiet_ms(6) = 61'000;
  CHECK(named_in(job) == Named{6});
  const Verdict verdict = diagnose(job.capture).verdict;
  INFO(verdict.summary);
  CHECK(verdict.confidence == Confidence::kPossible);
  CHECK(verdict.summary.ends_with("; it has stood still for 61 s, all others for 20 s"));
  quiet_ms(2) = 45'000;  // they did not stop together
  CHECK(named_in(job).empty());
  quiet_ms(2) = -1;
  CHECK(named_in(job).empty());
}

TEST_CASE("suspects: a key that is named after another rank is that one's to set") {
  CaptureBuilder job = eight_ranks(in_all_reduce());
  const auto waits_for = [&job](std::string_view key) {
    ThreadSpec spec = tests::in_store();
    spec.call.reset();
    replace(job, 5, spec);
    job.process(pid_of(5)).threads[0].wait.rare.edit().key = job.capture.tables.string(key);
    return named_in(job);
  };
  CHECK(waits_for("ready") == Named{5});
  CHECK(waits_for("ready/5") == Named{5});
  CHECK(waits_for("ready/4711") == Named{5});
  CHECK(waits_for("plan-v3") == Named{5});  // a version
  CHECK(waits_for("ready/3").empty());
  CHECK(waits_for("done_rank3").empty());
  CHECK(waits_for("step/6/ready/3").empty());  // one of the two is a count
}

TEST_CASE("suspects: a rank whose going on would not set the others free is not named") {
  CaptureBuilder job = eight_ranks(in_all_reduce());
  replace(job, 5, waiting_on(WaitOn::kSocket));
  CHECK(named_in(job) == Named{5});
  // Rank 3 is in another call with rank 2, which is in that of all ranks.
  ThreadSpec other = in_all_reduce();
  other.call->group = "left";
  other.call->whole_world = false;
  other.call->members = {2, 3};
  replace(job, 3, other);
  CHECK(named_in(job).empty());
}

TEST_CASE("suspects: a rank that is no member of the calls is not missed there") {
  ThreadSpec inside = in_all_reduce();
  inside.call->group = "seven";
  inside.call->whole_world = false;
  inside.call->members = {0, 1, 2, 3, 4, 5, 6};
  CaptureBuilder job = eight_ranks(inside);
  replace(job, 3, waiting_on(WaitOn::kSocket));
  replace(job, 7, tests::sleeping());
  CHECK(named_in(job) == Named{3});
  CaptureBuilder world = eight_ranks(in_all_reduce());
  replace(world, 3, waiting_on(WaitOn::kSocket));
  replace(world, 7, tests::sleeping());
  CHECK(named_in(world) == Named{7});
}

TEST_CASE("suspects: a transfer to itself waits for no other rank") {
  CaptureBuilder job = eight_ranks(in_all_reduce());
  replace(job, 3, receiving_from(3));
  CHECK(named_in(job) == Named{3});
}

TEST_CASE("suspects: a rank that polls for a message is named if all others wait for it") {
  CaptureBuilder job = eight_ranks(in_all_reduce());
  ThreadSpec polls = tests::sleeping();
  replace(job, 3, polls);
  snapshot::ThreadCapture& thread = job.process(pid_of(3)).threads[0];
  snapshot::PythonLoop& loop = thread.loops.emplace_back();
  loop.frame = 1;
  loop.calls.push_back({job.capture.tables.string("mpi4py.MPI.Comm.Iprobe"), {}, false, false});
  loop.calls.push_back({job.capture.tables.string("time.sleep"), {}, false, false});
  CHECK(named_in(job) == Named{3});
}

TEST_CASE("suspects: without a visible call, the odd one out is possible, and on a tie nobody") {
  CaptureBuilder job = eight_ranks(waiting_on(WaitOn::kLock));
  CHECK(named_in(job).empty());
  ThreadSpec other = waiting_on(WaitOn::kLock);
  other.frames.front() = tests::py("other", "/home/ada/demo/train.py", 9);
  replace(job, 4, other);
  CHECK(named_in(job) == Named{4});
  CHECK(diagnose(job.capture).verdict.confidence == Confidence::kPossible);
  SECTION("half of the ranks are elsewhere") {
    for (const std::int32_t rank : {5, 6, 7}) {
      replace(job, rank, other);
    }
  }
  SECTION("the loop of another rank is further on: it is not held up") {
    job.process(pid_of(2)).threads[0].samples.edit_back().locals_changed = true;
  }
  SECTION("it writes something: it does its work") {
    job.process(pid_of(4)).written_bytes = 800;
  }
  SECTION("it stands, and only other threads of it write") {
    job.process(pid_of(4)).written_bytes = 800;
    job.process(pid_of(4)).threads[0].wait.quiet_ms = 60'000;
    CHECK(named_in(job) == Named{4});
    return;
  }
  CHECK(named_in(job).empty());
}

TEST_CASE("suspects: ranks that somebody wakes between the samples do not stand") {
  CaptureBuilder job({"n0"}, 3);
  job.thread(job.rank(0, "n0", pid_of(0)), tests::sleeping());
  ThreadSpec waits = tests::at_python_lock();
  const bool woken = GENERATE(false, true);
  waits.switch_step = woken ? 5 : 0;
  for (const std::int32_t rank : {1, 2}) {
    snapshot::ProcessCapture& process = job.rank(rank, "n0", pid_of(rank));
    job.thread(process, waits);
    job.thread(process, tests::asking_rank(0)).tid =
        pid_of(rank) + 500;  // it gives out what it gets
  }
  CHECK(named_in(job) == (woken ? Named{} : Named{0}));
}

TEST_CASE("suspects: at one place, the one that asks a store for another key is the odd one") {
  CaptureBuilder job = eight_ranks(waiting_on(WaitOn::kSocket));
  const auto asks_for = [&job](std::int32_t rank, std::string_view key) {
    job.process(pid_of(rank)).threads[0].wait.rare.edit().key = job.capture.tables.string(key);
  };
  for (std::int32_t rank = 0; rank < 8; ++rank) {
    asks_for(rank, "epoch/go");
  }
  CHECK(named_in(job).empty());
  asks_for(5, "restart/go");
  CHECK(named_in(job) == Named{5});
  asks_for(3, "end/go");  // each asks for something else
  CHECK(named_in(job).empty());
}

TEST_CASE(
    "suspects: among ranks that sleep or run in code of their own, different work is no hang") {
  const ThreadSpec other = GENERATE(tests::sleeping(), tests::computing());
  CaptureBuilder job = eight_ranks(other);
  ThreadSpec odd = waiting_on(WaitOn::kLock);
  odd.frames = {tests::py("serve", "/home/ada/demo/train.py", 9)};
  replace(job, 4, odd);
  CHECK(named_in(job).empty());
}

TEST_CASE("suspects: a pipe of the launcher waits for no rank") {
  CaptureBuilder job = eight_ranks(in_all_reduce());
  replace(job, 2, tests::sleeping());
  replace(job, 5, waiting_on(WaitOn::kPipe, "pipe:[7]"));
  CHECK(named_in(job) == Named{2});  // whose end it is, is not known
  job.process(pid_of(5)).threads[0].wait.holder_pid = 1;
  CHECK(named_in(job) == Named{2, 5});
}

TEST_CASE("suspects: of a circle, the rank that all others wait for is named, whoever is to send") {
  CaptureBuilder job = eight_ranks(in_all_reduce());
  ThreadSpec receives = receiving_from(-1);
  receives.call->peers = {0, 1, 2, 3, 4, 6, 7};
  replace(job, 5, receives);
  CHECK(named_in(job) == Named{5});
  CHECK(diagnose(job.capture).verdict.kind == Kind::kSkippedCollective);
  replace(job, 2, tests::sleeping());  // it may send yet
  CHECK(named_in(job) == Named{2});
}

TEST_CASE("suspects: all others are in one call of an unknown group, so one is missing there") {
  CaptureBuilder job = eight_ranks(in_unknown_call(88));
  replace(job, 3, in_all_reduce());
  CHECK(named_in(job) == Named{3});
  CHECK(diagnose(job.capture).verdict.confidence == Confidence::kPossible);
  replace(job, 4, in_unknown_call(99));
  CHECK(named_in(job).empty());
}

TEST_CASE(
    "suspects: the others may have done their parts in the rooted call of the one elsewhere") {
  CaptureBuilder job = eight_ranks(in_unknown_call(88));
  ThreadSpec root = in_all_reduce();
  root.call->op = "gather";
  root.call->root = 3;
  replace(job, 3, root);
  CHECK(named_in(job).empty());
}

TEST_CASE("suspects: one in a call of an unknown group may wait for those that are elsewhere") {
  CaptureBuilder job = eight_ranks(in_unknown_call(88));
  replace(job, 3, in_unknown_call(99));
  CHECK(named_in(job).empty());
}

TEST_CASE("suspects: calls of an unknown operation at different places are not one call") {
  CaptureBuilder job = eight_ranks(in_unknown_call(88));
  for (const std::int32_t rank : {4, 5, 6, 7}) {
    replace(job, rank, in_unknown_call(99));
  }
  CHECK(diagnose(job.capture).verdict.kind == Kind::kUnknown);
}

TEST_CASE("suspects: a thread beside the main thread is a member of its call") {
  CaptureBuilder job = eight_ranks(in_all_reduce());
  // Rank 2 sleeps, but a thread of its own is in the call for it.
  replace(job, 2, tests::sleeping());
  ThreadSpec beside = in_all_reduce();
  beside.python_name = "metrics";
  job.thread(job.process(pid_of(2)), beside);
  CHECK(named_in(job).empty());
}

TEST_CASE("suspects: a call that only side threads are in is a note, and accuses nobody") {
  CaptureBuilder job = eight_ranks(in_all_reduce());
  replace(job, 2, tests::sleeping());
  ThreadSpec beside = in_all_reduce();
  beside.call->op = "barrier";
  beside.call->group = "metrics";
  beside.call->whole_world = false;
  beside.call->members = {0, 1, 5};
  for (const std::int32_t rank : {0, 1}) {
    job.thread(job.process(pid_of(rank)), beside).wait.quiet_ms = 31'000;
  }
  const Diagnosis diagnosis = diagnose(job.capture);
  CHECK(named_in(job) == Named{2});
  CHECK(std::ranges::count(diagnosis.notes,
                           "beside the main threads, threads of ranks 0-1 have waited in barrier "
                           "in group metrics {0-1,5} for 31 s; rank 5 is not in it") == 1);
}

TEST_CASE("suspects: of waits that are young, ranks on their way are not accused") {
  CaptureBuilder job = eight_ranks(tests::sleeping());
  replace(job, 7, in_all_reduce());
  auto& wait = job.process(pid_of(7)).threads[0].wait;
  wait.quiet_ms = 900;
  CHECK(named_in(job).empty());
  wait.quiet_ms = 900'000;
  CHECK(named_in(job).size() == 7);
}

TEST_CASE("suspects: a wait that wakes again and again has no known age") {
  CaptureBuilder job = eight_ranks(in_all_reduce());
  replace(job, 2, tests::sleeping());
  for (const std::int32_t rank : {0, 1, 3, 4, 5, 6, 7}) {
    job.process(pid_of(rank)).threads[0].wait.quiet_ms = 10;
  }
  const auto summary = [&job] { return diagnose(job.capture).verdict.summary; };
  CHECK(summary().find("the waits are young, 0.0 s") != std::string::npos);
  job.process(pid_of(5)).threads[0].samples.edit_back().voluntary_switches += 20;
  CHECK(summary().find("young") == std::string::npos);
  CHECK(summary().find("how old the waits are is not known") != std::string::npos);
}

TEST_CASE("suspects: ranks that the verdict does not explain are noted") {
  CaptureBuilder job = eight_ranks(in_all_reduce());
  for (const std::int32_t rank : {0, 1, 2, 3, 4, 5}) {
    job.process(pid_of(rank)).threads[0].call->group = job.capture.tables.string("left");
    job.process(pid_of(rank)).threads[0].call->whole_world = false;
    job.process(pid_of(rank)).threads[0].call->members = job.capture.tables.string("0-5");
  }
  replace(job, 2, tests::sleeping());
  replace(job, 6, receiving_from(7));
  replace(job, 7, receiving_from(6));
  // A circle of which a rank moves is none.
  job.process(pid_of(6)).threads[0].samples.edit_back().locals_changed = true;
  CHECK(named_in(job) == Named{2});
  const auto notes = diagnose(job.capture).notes;
  CHECK(std::count(notes.begin(), notes.end(),
                   "ranks 6-7 wait for other ranks, but not for one that is named") == 1);
}

TEST_CASE("suspects: a thread that is stopped in one sample only is not stopped") {
  CaptureBuilder job = eight_ranks(in_all_reduce());
  auto& samples = job.process(pid_of(2)).threads[0].samples;
  samples.edit_back().state = 't';
  CHECK(named_in(job).empty());
  for (auto& sample : samples.stored()) {
    sample.state = 't';
  }
  CHECK(named_in(job) == Named{2});
}

namespace {

// Adds a loop of the program's own function, in which the thread is asleep.
snapshot::PythonLoop& in_loop(CaptureBuilder& job, std::int32_t rank, const char* call) {
  snapshot::PythonLoop& loop = job.process(pid_of(rank)).threads.front().loops.emplace_back();
  loop.frame = 3;  // "log_metrics" of sleeping()
  loop.calls.push_back({job.capture.tables.string(call), {}, false, false});
  loop.calls.push_back({job.capture.tables.string("time.sleep"), {}, false, false});
  return loop;
}

// Two ranks wait for the first one, which sleeps.
CaptureBuilder two_wait(WaitOn on) {
  CaptureBuilder job({"n0"}, 3);
  job.thread(job.rank(0, "n0", pid_of(0)), tests::sleeping());
  for (const std::int32_t rank : {1, 2}) {
    ThreadSpec waits = waiting_on(on, on == WaitOn::kFileLock ? "/run/leader.lock" : "socket:[9]");
    waits.wait.syscall = on == WaitOn::kFileLock ? "flock" : "recvfrom";
    waits.wait.holder_pid = pid_of(0);
    waits.switch_step = on == WaitOn::kFileLock ? 0 : 4;
    job.thread(job.rank(rank, "n0", pid_of(rank)), waits);
  }
  return job;
}

}  // namespace

TEST_CASE("suspects: a rank that keeps a lock while it goes on is not stuck") {
  CaptureBuilder job = two_wait(WaitOn::kFileLock);
  ThreadSpec leads = tests::sleeping();
  leads.frames = {tests::native("clock_nanosleep", "/lib/x86_64-linux-gnu/libc.so.6"),
                  tests::py("lead", "/home/ada/demo/train.py", 95)};
  leads.switch_step = 4;
  replace(job, 0, leads);
  in_loop(job, 0, "tick").frame = 1;
  CHECK(named_in(job) == Named{0});
  job.process(pid_of(0)).threads.front().samples.edit_back().locals_changed = true;
  CHECK(named_in(job).empty());
}

TEST_CASE("suspects: a rank that goes on, but not into the others' call, may be stuck") {
  CaptureBuilder job = eight_ranks(in_all_reduce());
  replace(job, 3, tests::sleeping());
  in_loop(job, 3, "try_to_connect");
  job.process(pid_of(3)).threads.front().samples.edit_back().locals_changed = true;
  CHECK(named_in(job) == Named{3});
}

TEST_CASE("suspects: ranks that look for work in a loop without end are owed no answer") {
  CaptureBuilder job = two_wait(WaitOn::kSocket);
  const bool endless = GENERATE(true, false);
  for (const std::int32_t rank : {1, 2}) {
    auto& thread = job.process(pid_of(rank)).threads.front();
    thread.wait.limited = true;
    thread.loops.emplace_back().endless = endless;
  }
  CHECK(named_in(job) == (endless ? Named{} : Named{0}));
}

TEST_CASE("suspects: among ranks that take turns without end, a spare is not the odd one") {
  CaptureBuilder job({"n0"}, 3);
  const bool endless = GENERATE(true, false);
  ThreadSpec turns = tests::sleeping();
  turns.switch_step = 5;
  for (const std::int32_t rank : {0, 1}) {
    job.thread(job.rank(rank, "n0", pid_of(rank)), turns);
    in_loop(job, rank, "torch._C._distributed_c10d.TCPStore.add").endless = endless;
  }
  ThreadSpec spare = waiting_on(WaitOn::kSocket, "socket:[9]");
  spare.frames = {tests::native("c10d::TCPStore::wait", "/v/torch/lib/libtorch_cpu.so"),
                  tests::py("be_spare", "/home/ada/demo/train.py", 12)};
  spare.wait.syscall = "poll";
  spare.wait.limited = true;
  job.thread(job.rank(2, "n0", pid_of(2)), spare);
  CHECK(named_in(job) == (endless ? Named{} : Named{2}));
}

}  // namespace oddrank::aggregate
