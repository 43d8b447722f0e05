#include "collectives/counted_calls.h"

#include <cstdint>
#include <string_view>

#include "tests/support/catch.h"
#include "tests/support/hung_jobs.h"

namespace oddrank::collectives {
namespace {

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
