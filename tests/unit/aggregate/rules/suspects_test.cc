// The theory of blame, rule by rule: which ranks may be named, before a verdict says why.
#include "aggregate/diagnose.h"
#include "tests/support/catch.h"
#include "tests/support/hung_jobs.h"

namespace oddrank::aggregate {

using snapshot::CallKind;
using snapshot::WaitOn;
using tests::CaptureBuilder;
using tests::eight_ranks;
using tests::in_all_reduce;
using tests::pid_of;
using tests::replace;
using tests::ThreadSpec;

namespace {

std::vector<std::int32_t> named_in(const CaptureBuilder& job) {
  std::vector<std::int32_t> ranks;
  for (const Culprit& one : diagnose(job.capture).verdict.culprits) {
    ranks.push_back(one.rank);
  }
  return ranks;
}

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

// Returns a thread that waits for something whose other end the kernel does not show.
ThreadSpec waiting_on(WaitOn on) {
  ThreadSpec spec = tests::sleeping();
  spec.frames = {tests::py("do_it", "/home/ada/demo/train.py", 7)};
  spec.wait = {};
  spec.wait.on = on;
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

TEST_CASE("suspects: without numbers, no rank in a rooted call counts as behind") {
  CaptureBuilder job = eight_ranks(in_all_reduce());
  replace(job, 3, in_broadcast(0));
  replace(job, 5, in_broadcast(0));
  CHECK(named_in(job).empty());
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

TEST_CASE("suspects: a wait for an unknown process is neither guilt nor alibi") {
  CaptureBuilder job = eight_ranks(in_all_reduce());
  replace(job, 5, waiting_on(WaitOn::kSocket));
  CHECK(named_in(job) == Named{5});
  CHECK(diagnose(job.capture).verdict.confidence == Confidence::kPossible);
  replace(job, 2, tests::sleeping());
  CHECK(named_in(job) == Named{2});
}

TEST_CASE("suspects: if two ranks may wait for others, neither is named") {
  CaptureBuilder job = eight_ranks(in_all_reduce());
  replace(job, 5, waiting_on(WaitOn::kSocket));
  replace(job, 6, waiting_on(WaitOn::kPipe));
  CHECK(named_in(job).empty());
}

TEST_CASE("suspects: without a visible call, the odd one out is possible, and a tie names none") {
  CaptureBuilder job = eight_ranks(waiting_on(WaitOn::kLock));
  CHECK(named_in(job).empty());
  ThreadSpec other = waiting_on(WaitOn::kLock);
  other.frames.front() = tests::py("other", "/home/ada/demo/train.py", 9);
  replace(job, 4, other);
  CHECK(named_in(job) == Named{4});
  CHECK(diagnose(job.capture).verdict.confidence == Confidence::kPossible);
  for (const std::int32_t rank : {5, 6, 7}) {
    replace(job, rank, other);
  }
  CHECK(named_in(job).empty());
}

TEST_CASE("suspects: all others are in one call of an unknown group, so one is missing there") {
  CaptureBuilder job = eight_ranks(in_unknown_call(88));
  replace(job, 3, in_all_reduce());
  CHECK(named_in(job) == Named{3});
  CHECK(diagnose(job.capture).verdict.confidence == Confidence::kPossible);
  replace(job, 4, in_unknown_call(99));
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

TEST_CASE("suspects: while waits are young, ranks on their way are not accused") {
  CaptureBuilder job = eight_ranks(tests::sleeping());
  replace(job, 7, in_all_reduce());
  auto& wait = job.process(pid_of(7)).threads[0].wait;
  wait.quiet_ms = 900;
  CHECK(named_in(job).empty());
  wait.quiet_ms = 900'000;
  CHECK(named_in(job).size() == 7);
}

TEST_CASE("suspects: a thread that is stopped in one sample only is not stopped") {
  CaptureBuilder job = eight_ranks(in_all_reduce());
  auto& samples = job.process(pid_of(2)).threads[0].samples;
  samples.back().state = 't';
  CHECK(named_in(job).empty());
  for (auto& sample : samples) {
    sample.state = 't';
  }
  CHECK(named_in(job) == Named{2});
}

}  // namespace oddrank::aggregate
