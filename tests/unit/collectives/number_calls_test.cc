#include "collectives/number_calls.h"

#include <cstdint>
#include <string_view>

#include "tests/support/catch.h"
#include "tests/support/hung_jobs.h"
#include "tests/unit/collectives/thread_builder.h"

namespace oddrank::collectives {
namespace {

// A thread that waits for an all_reduce of the default group, whose newest call is #7.
void add_counted_group(ThreadBuilder& builder, std::int64_t newest) {
  snapshot::Capture& capture = builder.capture;
  snapshot::ProcessGroup group;
  group.name = capture.tables.string("0");
  group.is_default = true;
  snapshot::GroupCounter& counter = group.counters.emplace_back();
  counter.backend = capture.tables.string("gloo");
  counter.collectives = newest;
  capture.processes[0].groups = {group};
  builder.thread().has_python = true;
}

TEST_CASE("a call that waits for its end has the number of the group's newest call") {
  ThreadBuilder builder;
  builder.native("c10d::Work::wait").python("all_reduce", kC10dFile, 3252, {{"group", "None"}});
  add_counted_group(builder, 7);
  const auto& call = found_call(builder);
  CHECK(call.sequence == 7);
  CHECK(builder_text(builder, call.evidence).ends_with(", #7 by the group's own count"));
}

TEST_CASE("a call that was not made yet has no number") {
  ThreadBuilder builder;
  builder.python("all_reduce", kC10dFile, 3240, {{"group", "None"}});
  add_counted_group(builder, 7);
  CHECK(found_call(builder).sequence == -1);
}

TEST_CASE("a wrapper that compares the calls of all ranks has not passed its own on yet") {
  ThreadBuilder builder;
  builder.native("c10d::Work::wait")
      .native("c10d::ProcessGroupWrapper::runCollectiveChecks")
      .python("all_reduce", kC10dFile, 3252, {{"group", "None"}});
  add_counted_group(builder, 7);
  CHECK(found_call(builder).sequence == 8);
}

TEST_CASE("a thread that waits for a call made before has no number") {
  ThreadBuilder builder;
  builder.native("c10d::Work::wait")
      .python("wait_tensor", "/v/torch/distributed/_functional_collectives.py", 100);
  add_counted_group(builder, 7);
  CHECK(found_call(builder).sequence == -1);
}

TEST_CASE("if two threads are in calls of one group, neither has a number") {
  ThreadBuilder builder;
  builder.native("c10d::Work::wait").python("all_reduce", kC10dFile, 3252, {{"group", "None"}});
  add_counted_group(builder, 7);
  builder.capture.processes[0].threads.push_back(builder.thread());
  CHECK(found_call(builder).sequence == -1);
}

TEST_CASE("of two backends the one in the frames counts") {
  ThreadBuilder builder;
  builder.native("c10d::Work::wait")
      .native("c10d::ProcessGroupGloo::allreduce")
      .python("all_reduce", kC10dFile, 3252, {{"group", "None"}});
  add_counted_group(builder, 7);
  snapshot::GroupCounter other;
  other.backend = builder.capture.tables.string("nccl");
  other.collectives = 30;
  builder.capture.processes[0].groups[0].counters.push_back(other);
  CHECK(found_call(builder).sequence == 7);
}

TEST_CASE("gloo's wait has no number of NCCL's, with which gloo shares the group") {
  ThreadBuilder builder;
  builder.native("c10d::Work::wait").python("all_reduce", kC10dFile, 3252, {{"group", "None"}});
  add_counted_group(builder, 7);
  snapshot::GroupCounter& gloo = builder.capture.processes[0].groups[0].counters[0];
  snapshot::GroupCounter other;
  other.backend = builder.capture.tables.string("nccl");
  other.collectives = 30;
  SECTION("its own count") {
    builder.capture.processes[0].groups[0].counters.push_back(other);
    CHECK(found_call(builder).sequence == 7);
  }
  SECTION("its own count has transfers in it, too") {
    gloo.mixed = true;
    builder.capture.processes[0].groups[0].counters.push_back(other);
    CHECK(found_call(builder).sequence == -1);
  }
  SECTION("only NCCL's count could be read") {
    gloo = other;
    CHECK(found_call(builder).sequence == -1);
  }
}

using snapshot::ProcessCapture;
using tests::CaptureBuilder;

void add_backend(CaptureBuilder& job,
                 std::int32_t rank,
                 std::string_view name,
                 std::int64_t calls,
                 std::string_view backend = "nccl",
                 std::int64_t transfers = 0) {
  snapshot::ProcessGroup& group = job.process(tests::pid_of(rank)).groups.emplace_back();
  group.name = job.capture.tables.string(name);
  group.is_default = name == "0";
  group.size = 8;
  snapshot::GroupCounter& counter = group.counters.emplace_back();
  counter.backend = job.capture.tables.string(backend);
  counter.collectives = counter.collectives_before = calls;
  counter.transfers = counter.transfers_before = transfers;
}

// Ranks that wait for their devices, without a recorder.
CaptureBuilder unrecorded() {
  tests::ThreadSpec spec = tests::waiting_on(snapshot::WaitOn::kDevice);
  spec.state = 'R';
  return tests::eight_ranks(spec);
}

const Boxed<snapshot::CollectiveCall>& main_call(CaptureBuilder& job, std::int32_t rank) {
  return job.process(tests::pid_of(rank)).threads[0].call;
}

TEST_CASE("a rank that waits for its device is in its group's newest call, if nobody recorded it") {
  CaptureBuilder job = unrecorded();
  for (std::int32_t rank = 0; rank < 8; ++rank) {
    add_backend(job, rank, "0", rank == 3 ? 41 : 42);
    add_backend(job, rank, "cpu", 7, "gloo");
  }
  replace(job, 3, tests::sleeping());
  add_counted_calls(job.capture);
  REQUIRE(main_call(job, 2));
  CHECK(main_call(job, 2)->whole_world);
  CHECK(main_call(job, 2)->sequence == 42);
  CHECK_FALSE(main_call(job, 3));
}

TEST_CASE("no call is counted where it may be another one") {
  CaptureBuilder job = unrecorded();
  SECTION("two groups of devices") {
    add_backend(job, 2, "0", 42);
    add_backend(job, 2, "9", 10);
  }
  SECTION("a group with transfers") {
    add_backend(job, 2, "0", 42, "nccl", 3);
  }
  SECTION("calls for the CPU only") {
    add_backend(job, 2, "0", 42, "gloo");
  }
  SECTION("no call yet") {
    add_backend(job, 2, "0", 0);
  }
  SECTION("a recorder tells") {
    add_backend(job, 2, "0", 42);
    job.capture.collectives.flight.emplace_back().rank = 2;
  }
  SECTION("it does not wait for its device") {
    add_backend(job, 2, "0", 42);
    job.process(tests::pid_of(2)).threads[0].wait.on = snapshot::WaitOn::kFile;
  }
  add_counted_calls(job.capture);
  CHECK_FALSE(main_call(job, 2));
}

}  // namespace
}  // namespace oddrank::collectives
