// Ranks that go on, or seem to: members that have their part of a call, and variables that change.
#include <cstdint>
#include <string>

#include "aggregate/diagnose.h"
#include "tests/support/catch.h"
#include "tests/support/hung_jobs.h"

namespace oddrank::aggregate {

using tests::CaptureBuilder;
using tests::eight_ranks;
using tests::in_all_reduce;
using tests::pid_of;
using tests::ThreadSpec;

TEST_CASE("skipped: the root of a broadcast that a member has left waits for another member") {
  CaptureBuilder job({"n0"}, 4);
  const auto add = [&job](std::int32_t rank, const tests::CallSpec& call) {
    ThreadSpec spec = in_all_reduce();
    spec.call = call;
    job.thread(job.rank(rank, "n0", pid_of(rank)), spec);
  };
  const auto in_broadcast = [](std::int64_t sequence) {
    return tests::CallSpec{
        .op = "broadcast", .group = "a", .members = {0, 1, 2}, .root = 0, .sequence = sequence};
  };
  add(0, in_broadcast(13));
  add(1, {.op = "barrier", .group = "b", .members = {1, 3}, .sequence = 5});
  add(2, in_broadcast(14));
  add(3, {.op = "all_reduce", .group = "default", .whole_world = true, .sequence = 7});
  const Verdict verdict = diagnose(job.capture).verdict;
  CHECK(verdict.summary.find("not in the same call") == std::string::npos);
  for (const Culprit& culprit : verdict.culprits) {
    CHECK((culprit.rank != 0 || verdict.culprits.size() > 1));
  }
}

TEST_CASE("healthy: variables alone, at places that do not change, may count tries") {
  ThreadSpec sleeps;
  sleeps.frames = {tests::native("clock_nanosleep", "libc.so.6"),
                   tests::py("main", "/job/train.py", 9)};
  sleeps.wait.syscall = "clock_nanosleep";
  CaptureBuilder job = eight_ranks(sleeps);
  for (std::int32_t rank = 0; rank < 8; ++rank) {
    job.process(pid_of(rank)).threads[0].samples.edit_back().locals_changed = true;
  }
  CHECK(diagnose(job.capture).verdict.kind == Kind::kHealthy);
  CHECK(diagnose(job.capture).verdict.confidence == Confidence::kPossible);
  job.process(pid_of(3)).threads[0].samples.edit_back().cpu_us += 50'000;
  CHECK(diagnose(job.capture).verdict.confidence == Confidence::kLikely);
}

}  // namespace oddrank::aggregate
