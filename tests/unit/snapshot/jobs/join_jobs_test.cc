// Jobs whose ranks have the same numbers, made one.
#include "snapshot/jobs/join_jobs.h"

#include <string>
#include <string_view>

#include "tests/support/capture_builder.h"
#include "tests/support/catch.h"

namespace oddrank::snapshot {
namespace {

using tests::CallSpec;
using tests::CaptureBuilder;

ProcessGroup& add_group(Capture& capture, ProcessCapture& process, std::string_view name) {
  ProcessGroup& row = process.groups.emplace_back();
  row.name = capture.tables.string(name);
  return row;
}

// Two trainers and an engine, in another job; trainer 0 and the engine have met by themselves.
class TwoJobs {
 public:
  TwoJobs() : job_({"n0"}, 2) {
    for (const pid_t pid : {10, 11, 20}) {
      ProcessCapture& process = job_.rank(pid % 10, "n0", pid);
      process.world_size = pid < 20 ? 2 : 1;
      process.job_key = job_.capture.tables.string(pid < 20 ? "n0:1" : "n0:2");
      process.label = job_.capture.tables.string(pid < 20 ? "train.py" : "engine.py");
      add_group(job_.capture, process, "0").is_default = true;
      if (pid % 10 == 0) {
        ProcessGroup& sync = add_group(job_.capture, process, "sync");
        sync.members = job_.capture.tables.string("0-1");
        sync.met_at = job_.capture.tables.string(pid < 20 ? "n0:9 sync/" : "10.0.0.1:9 sync/");
        sync.rank = pid < 20 ? 1 : 0;
        sync.size = 2;
      }
    }
  }

  void call(pid_t pid, CallSpec spec) { job_.thread(job_.process(pid), {.call = std::move(spec)}); }
  ProcessCapture& process(pid_t pid) { return job_.process(pid); }
  Capture& capture() { return job_.capture; }

 private:
  CaptureBuilder job_;
};

const ProcessCapture& with_pid(const Capture& capture, pid_t pid) {
  for (const ProcessCapture& process : capture.processes) {
    if (process.pid == pid) {
      return process;
    }
  }
  throw std::out_of_range("no such process");
}

TEST_CASE("the smaller job's ranks follow those of the larger one") {
  TwoJobs jobs;
  const OneNumbering one(jobs.capture());
  const Capture& whole = one.capture();
  CHECK(with_pid(whole, 11).rank == 1);
  const ProcessCapture& engine = with_pid(whole, 20);
  CHECK(engine.rank == 2);
  CHECK(engine.first_rank == 2);
  CHECK(whole.tables.text(engine.label) == "rank 0 of engine.py");
  CHECK(whole.job.world_size == 3);
  REQUIRE(whole.job.notes.size() == 1);
  CHECK(whole.job.notes[0] == "2 jobs: ranks 0-1 are of n0:1, rank 2 is rank 0 of n0:2");
}

TEST_CASE("calls of all ranks of a job, and of a group made by hand, get their members") {
  TwoJobs jobs;
  jobs.call(11, {.op = "all_reduce", .whole_world = true});
  jobs.call(20, {.op = "broadcast", .group = "sync", .members = {0, 1}, .root = 1});
  const OneNumbering one(jobs.capture());
  const Capture& whole = one.capture();
  const CollectiveCall& of_all = *with_pid(whole, 11).threads[0].call;
  CHECK_FALSE(of_all.whole_world);
  CHECK(whole.tables.text(of_all.members) == "0-1");
  const CollectiveCall& by_hand = *with_pid(whole, 20).threads[0].call;
  CHECK(whole.tables.text(by_hand.members) == "2,0");  // in the order of the group's ranks
  CHECK(by_hand.root == 0);
  // The groups of all ranks of two jobs are two groups.
  CHECK(with_pid(whole, 10).groups[0].name != with_pid(whole, 20).groups[0].name);
}

TEST_CASE("a group made by hand has no members if one was not read, or two say the same number") {
  for (const bool twice : {false, true}) {
    TwoJobs jobs;
    jobs.call(10, {.op = "broadcast", .group = "sync", .members = {0, 1}, .root = 0});
    jobs.process(20).groups[1].rank = twice ? 1 : 0;
    jobs.process(20).groups[1].met_at =
        jobs.capture().tables.string(twice ? "n0:9 sync/" : "n0:8 sync/");
    const OneNumbering one(jobs.capture());
    const CollectiveCall& call = *with_pid(one.capture(), 10).threads[0].call;
    CHECK(call.members == StringId{});
    CHECK(call.root == -1);
  }
}

TEST_CASE("what names ranks, but no job, is dropped") {
  TwoJobs jobs;
  auto& state = jobs.capture().collectives;
  state.flight.resize(2);
  state.flight[0].rank = state.flight[1].rank = 0;
  state.flight[0].pid = 20;
  state.log.resize(2);
  state.log[0].rank = 1;
  const OneNumbering one(jobs.capture());
  const auto& kept = one.capture().collectives;
  REQUIRE(kept.flight.size() == 1);
  CHECK(kept.flight[0].rank == 2);
  CHECK(kept.log.size() == 1);
}

TEST_CASE("a capture with unique numbers stays as it is") {
  TwoJobs jobs;
  for (const pid_t pid : {10, 20}) {
    jobs.process(pid).groups.pop_back();
  }
  jobs.process(20).rank = 2;
  CHECK(&OneNumbering(jobs.capture()).capture() == &jobs.capture());
}

TEST_CASE("groups that met at an unknown place have no members") {
  TwoJobs jobs;
  jobs.call(10, {.op = "broadcast", .group = "sync", .members = {0, 1}, .root = 0});
  for (const pid_t pid : {10, 20}) {
    jobs.process(pid).groups[1].met_at = jobs.capture().tables.string(" sync/");
  }
  const OneNumbering one(jobs.capture());
  CHECK(with_pid(one.capture(), 10).threads[0].call->members == StringId{});
}

TEST_CASE("a list of ranks without a bound is unknown") {
  TwoJobs jobs;
  jobs.call(20, {.op = "all_reduce", .group = "tp", .members = {0, INT32_MAX}, .root = INT32_MAX});
  const OneNumbering one(jobs.capture());
  const CollectiveCall& call = *with_pid(one.capture(), 20).threads[0].call;
  CHECK(call.members == StringId{});
  CHECK(call.root == -1);
}

TEST_CASE("numbers without a bound are not joined") {
  TwoJobs jobs;
  jobs.process(20).world_size = INT32_MAX;
  for (const pid_t pid : {10, 20}) {
    jobs.process(pid).groups[1].size = INT32_MAX;
  }
  CHECK(with_pid(OneNumbering(jobs.capture()).capture(), 11).rank == 1);
}

}  // namespace
}  // namespace oddrank::snapshot
