#include "collectives/join_flight.h"

#include <algorithm>

#include "collectives/flight/flight_paths.h"
#include "collectives/flight/shorten_record.h"
#include "tests/support/catch.h"
#include "tests/support/hung_jobs.h"
#include "tests/support/recorders.h"

namespace oddrank::collectives {
namespace {

using tests::CaptureBuilder;
using tests::Recorders;

constexpr std::uint64_t kSecondUs = 1'000'000;
const std::vector<std::int32_t> kWorld = {0, 1, 2, 3, 4, 5, 6, 7};

snapshot::ThreadCapture& decider(CaptureBuilder& job, std::int32_t rank) {
  return job.process(tests::pid_of(rank)).threads.front();
}

std::uint64_t looked_us(CaptureBuilder& job, std::int32_t rank) {
  return job.process(tests::pid_of(rank)).read_us;
}

// Returns eight ranks in their third all_reduce, made `age_us` before the sample.
Recorders third_all_reduce(std::uint64_t looked_us, std::uint64_t age_us) {
  Recorders recorders(8);
  recorders.description = "default_pg";
  recorders.created_us = looked_us - age_us;
  recorders.call("0", kWorld, kWorld, "all_reduce", true);
  recorders.call("0", kWorld, kWorld, "all_reduce", true);
  recorders.call("0", kWorld, kWorld, "all_reduce", false);
  return recorders;
}

TEST_CASE("the number of a call comes from a dump that was written after the sample") {
  CaptureBuilder job = tests::eight_ranks(tests::in_all_reduce());
  const std::uint64_t looked = looked_us(job, 0);
  third_all_reduce(looked, kSecondUs).into(job.capture, looked + kSecondUs);
  join_flight(job.capture);
  CHECK(decider(job, 0).call->sequence == 3);
  CHECK(decider(job, 7).call->sequence == 3);
  CHECK(job.capture.tables.text(decider(job, 0).call->evidence)
            .find("flight recorder: all_reduce #3") != std::string::npos);
}

TEST_CASE("an old dump counts only if the call stood still when it was written") {
  CaptureBuilder job = tests::eight_ranks(tests::in_all_reduce());
  const std::uint64_t looked = looked_us(job, 0);
  SECTION("of a job that was still well") {
    third_all_reduce(looked, 600 * kSecondUs).into(job.capture, looked - 599 * kSecondUs);
    join_flight(job.capture);
    CHECK(decider(job, 0).call->sequence == -1);
  }
  SECTION("of this hang") {
    third_all_reduce(looked, 600 * kSecondUs).into(job.capture, looked - 200 * kSecondUs);
    join_flight(job.capture);
    CHECK(decider(job, 0).call->sequence == 3);
  }
  SECTION("made after the sample: another call by now") {
    third_all_reduce(looked + 2 * kSecondUs, 0).into(job.capture, looked + 3 * kSecondUs);
    join_flight(job.capture);
    CHECK(decider(job, 0).call->sequence == -1);
  }
}

TEST_CASE("a number is not taken from another operation, group, process, or a cut dump") {
  CaptureBuilder job = tests::eight_ranks(tests::in_all_reduce());
  const std::uint64_t looked = looked_us(job, 0);
  Recorders recorders = third_all_reduce(looked, kSecondUs);
  SECTION("operation") {
    decider(job, 0).call->op = job.capture.tables.string("broadcast");
  }
  SECTION("group") {
    decider(job, 0).call->whole_world = false;
    decider(job, 0).call->group = job.capture.tables.string("7");
  }
  SECTION("process") {
    recorders.records[0].pid = tests::pid_of(0) + 1;
  }
  SECTION("cut") {
    recorders.records[0].cut = true;
  }
  recorders.into(job.capture, looked + kSecondUs);
  join_flight(job.capture);
  CHECK(decider(job, 0).call->sequence == -1);
  CHECK(decider(job, 1).call->sequence == 3);
}

TEST_CASE("a rank that waits for its device is in the oldest call that has not ended") {
  CaptureBuilder job = tests::eight_ranks(tests::in_all_reduce());
  decider(job, 2).call.reset();
  decider(job, 2).wait.on = snapshot::WaitOn::kDevice;
  decider(job, 3).call.reset();
  decider(job, 3).wait.on = snapshot::WaitOn::kFile;
  const std::uint64_t looked = looked_us(job, 0);
  Recorders recorders = third_all_reduce(looked, kSecondUs);
  recorders.description = "tp";
  recorders.call("9", {2, 3}, {2, 3}, "_all_gather_base", false);
  recorders.into(job.capture, looked + kSecondUs);
  join_flight(job.capture);
  REQUIRE(decider(job, 2).call);
  CHECK(decider(job, 2).call->whole_world);
  CHECK(decider(job, 2).call->sequence == 3);
  CHECK(job.capture.tables.text(decider(job, 2).call->op) == "all_reduce");
  CHECK_FALSE(decider(job, 3).call);
}

TEST_CASE("a thread that asks again and again whether a call has ended is in the open one") {
  CaptureBuilder job = tests::eight_ranks(tests::in_all_reduce());
  const std::uint64_t looked = looked_us(job, 0);
  // Puts the rank into a loop of `calls`, with `inside` Python frames further in.
  const auto polls = [&job](std::int32_t rank, const std::vector<std::string>& calls,
                            std::size_t inside = 0) {
    tests::ThreadSpec spec = tests::sleeping();
    for (std::size_t i = 0; i < inside; ++i) {
      spec.frames.insert(spec.frames.begin() + 1, tests::py("load", "/job/data.py", 3));
    }
    job.process(tests::pid_of(rank)).threads.clear();
    snapshot::ThreadCapture& thread = job.thread(job.process(tests::pid_of(rank)), spec);
    snapshot::PythonLoop& loop = thread.loops.emplace_back();
    loop.frame = static_cast<std::uint32_t>(1 + inside);
    for (const std::string& call : calls) {
      loop.calls.push_back({job.capture.tables.string(call), {}});
    }
  };
  const std::string asks = "torch._C._distributed_c10d.Work.is_completed";
  polls(1, {asks, "time.sleep"});
  polls(2, {"threading.Event.is_set", "time.sleep"});
  polls(3, {"time.sleep"});
  polls(4, {asks, "time.sleep"}, 2);  // it loads data meanwhile
  polls(5, {asks, "time.sleep"});
  polls(6, {"mpi4py.MPI.Request.Test", "time.sleep"});
  Recorders recorders = third_all_reduce(looked, kSecondUs);
  recorders.call("9", {4, 5}, {5}, "broadcast", false);
  recorders.into(job.capture, looked + kSecondUs);
  join_flight(job.capture);
  REQUIRE(decider(job, 1).call);
  CHECK(decider(job, 1).call->sequence == 3);
  CHECK(decider(job, 1).call->whole_world);
  for (const std::int32_t rank : {2, 3, 4, 5, 6}) {  // 5 has two open, and may ask for either
    INFO(rank);
    CHECK_FALSE(decider(job, rank).call);
  }
}

TEST_CASE("a thread that waits for a future of torch is in the open call, without RPC") {
  CaptureBuilder job = tests::eight_ranks(tests::in_all_reduce());
  const std::uint64_t looked = looked_us(job, 0);
  const auto waits = [&job](std::int32_t rank, std::string_view in) {
    tests::ThreadSpec spec = tests::waiting_on(snapshot::WaitOn::kLock);
    spec.frames = {tests::native("pthread_cond_wait", "libc.so.6"),
                   tests::native(in, "libtorch_python.so"), tests::py("train", "/job/t.py", 3)};
    job.process(tests::pid_of(rank)).threads.clear();
    job.thread(job.process(tests::pid_of(rank)), spec);
  };
  waits(1, "_ZN5torch3jit19PythonFutureWrapper4waitEv");
  waits(2, "_ZN5torch3jit19PythonFutureWrapper4waitEv");
  tests::ThreadSpec agent = tests::waiting_on(snapshot::WaitOn::kSocket);
  agent.frames = {
      tests::native("epoll_wait", "libc.so.6"),
      tests::native("_ZN5torch11distributed3rpc15TensorPipeAgent3runEv", "libtorch.so")};
  job.thread(job.process(tests::pid_of(2)), agent);
  waits(3, "_ZN5torch8autograd6Engine7executeEv");
  third_all_reduce(looked, kSecondUs).into(job.capture, looked + kSecondUs);
  join_flight(job.capture);
  REQUIRE(decider(job, 1).call);
  CHECK(decider(job, 1).call->sequence == 3);
  CHECK_FALSE(decider(job, 2).call);
  CHECK_FALSE(decider(job, 3).call);
}

TEST_CASE("the thread that waits for the device may be autograd's") {
  CaptureBuilder job = tests::eight_ranks(tests::in_all_reduce());
  const std::uint64_t looked = looked_us(job, 0);
  for (const std::int32_t rank : {2, 3}) {
    decider(job, rank).call.reset();
    decider(job, rank).wait.on = snapshot::WaitOn::kLock;
    tests::ThreadSpec engine = tests::waiting_on(snapshot::WaitOn::kDevice);
    job.thread(job.process(tests::pid_of(rank)), engine);
    if (rank == 3) {  // one of two: it is not known which
      job.thread(job.process(tests::pid_of(rank)), engine);
    }
  }
  third_all_reduce(looked, kSecondUs).into(job.capture, looked + kSecondUs);
  join_flight(job.capture);
  const auto& threads = job.process(tests::pid_of(2)).threads;
  const auto found = std::find_if(threads.begin(), threads.end(),
                                  [](const auto& thread) { return thread.call.has_value(); });
  REQUIRE(found != threads.end());
  CHECK(found->wait.on == snapshot::WaitOn::kDevice);
  CHECK(found->call->sequence == 3);
  const auto& unclear = job.process(tests::pid_of(3)).threads;
  CHECK(std::none_of(unclear.begin(), unclear.end(),
                     [](const auto& thread) { return thread.call.has_value(); }));
}

TEST_CASE("a rank that waits for its device waits for what it receives") {
  CaptureBuilder job = tests::eight_ranks(tests::in_all_reduce());
  const std::uint64_t looked = looked_us(job, 0);
  Recorders recorders = third_all_reduce(looked, kSecondUs);
  for (std::int32_t rank = 2; rank <= 6; ++rank) {
    decider(job, rank).call.reset();
    decider(job, rank).wait.on = snapshot::WaitOn::kDevice;
    auto& process = job.process(tests::pid_of(rank));
    process.groups = {snapshot::ProcessGroup{job.capture.tables.string("0"), {}, {}, true}};
    process.groups.front().size = 8;
    auto& record = recorders.records[static_cast<std::size_t>(rank)];
    record.entries.back().state = snapshot::FlightState::kCompleted;
    record.from_memory = true;
  }
  recorders.transfer(2, kWorld, "send", 3);  // sent before; the device needs what comes from 1
  recorders.transfer(2, kWorld, "recv", 1);
  recorders.transfer(2, kWorld, "recv", 1);
  recorders.transfer(3, kWorld, "send", 4);
  recorders.transfer(4, kWorld, "recv", 3);  // which of the two is not known
  recorders.transfer(4, kWorld, "recv", 5);
  recorders.transfer(5, kWorld, "recv", 4, true);
  recorders.call("0", kWorld, {6}, "all_gather", false);
  recorders.transfer(6, kWorld, "recv", 5);
  recorders.into(job.capture, looked + kSecondUs);
  join_flight(job.capture);
  REQUIRE(decider(job, 2).call);
  CHECK(decider(job, 2).call->kind == snapshot::CallKind::kRecv);
  CHECK(decider(job, 2).call->peer == 1);
  CHECK(decider(job, 2).call->whole_world);
  REQUIRE(decider(job, 3).call);
  CHECK(decider(job, 3).call->kind == snapshot::CallKind::kSend);
  CHECK(decider(job, 3).call->peer == 4);
  CHECK_FALSE(decider(job, 4).call);
  CHECK_FALSE(decider(job, 5).call);
  REQUIRE(decider(job, 6).call);  // made before
  CHECK(decider(job, 6).call->kind == snapshot::CallKind::kCollective);
}

TEST_CASE("the only open call gives the group that the frames do not show") {
  CaptureBuilder job = tests::eight_ranks(tests::in_all_reduce());
  for (std::int32_t rank = 0; rank < 8; ++rank) {
    decider(job, rank).call->whole_world = false;
  }
  const std::uint64_t looked = looked_us(job, 0);
  Recorders recorders = third_all_reduce(looked, kSecondUs);
  recorders.call("9", {2, 3}, {2, 3}, "broadcast", false);
  recorders.into(job.capture, looked + kSecondUs);
  join_flight(job.capture);
  CHECK(decider(job, 0).call->whole_world);
  CHECK_FALSE(decider(job, 2).call->whole_world);  // two are open there
  CHECK(decider(job, 2).call->sequence == -1);
}

TEST_CASE("names of operations: torch.distributed's and the recorder's") {
  CHECK(is_recorded_as("all_gather_into_tensor", "_all_gather_base"));
  CHECK(is_recorded_as("reduce_scatter_tensor", "_reduce_scatter_base"));
  CHECK(is_recorded_as("barrier", "all_reduce_barrier"));
  CHECK(is_recorded_as("all_to_all_single", "all_to_all"));
  CHECK_FALSE(is_recorded_as("reduce", "reduce_scatter"));
  CHECK_FALSE(is_recorded_as("gather", "all_gather"));
  CHECK_FALSE(is_recorded_as("all_reduce", "something new"));
}

TEST_CASE("where dumps are: the variables of all versions, then the defaults of all versions") {
  const auto variable = [](std::string_view name) -> std::string_view {
    return name == "HOME"                              ? "/home/ada"
           : name == "TORCH_NCCL_DEBUG_INFO_TEMP_FILE" ? "dumps/rank_"
           : name == "TORCH_NCCL_DEBUG_INFO_PIPE_FILE" ? "/p/pipe_"
                                                       : "";
  };
  CHECK(flight_paths(variable, 12) ==
        std::vector<std::string>{"dumps/rank_12", "/home/ada/.cache/torch/comm_lib_trace_rank_12",
                                 "/tmp/nccl_trace_rank_12", "/tmp/hccl_trace_rank_12"});
  CHECK(flight_pipes(variable, 12) == std::vector<std::string>{"/p/pipe_12.pipe"});
  const auto nothing = [](std::string_view /*name*/) { return std::string_view(); };
  CHECK(flight_paths(nothing, 0).front() == "/tmp/.cache/torch/comm_lib_trace_rank_0");
  CHECK(flight_pipes(nothing, 0).empty());
}

TEST_CASE("a shortened record keeps open calls and the last call of each group") {
  Recorders recorders(2);
  recorders.call("1", {0, 1}, {0}, "all_reduce", false);
  recorders.call("2", {0, 1}, {0}, "all_reduce", true);
  for (int i = 0; i < 100; ++i) {
    recorders.call("0", {0, 1}, {0}, "all_reduce", true);
  }
  snapshot::FlightRecord record = recorders.records[0];
  shorten_record(record, recorders.texts, 200);
  CHECK_FALSE(record.shortened);
  CHECK(record.entries.size() == 102);
  shorten_record(record, recorders.texts, 10);
  CHECK(record.shortened);
  REQUIRE(record.entries.size() == 12);
  CHECK(record.entries[0].record == 0);
  CHECK(record.entries[1].record == 1);
  CHECK(record.entries[2].record == 92);
  CHECK(flight_entry_limit(512) == 3906);
  CHECK(flight_entry_limit(-1) == 4000);
  CHECK(flight_entry_limit(100'000) == 128);
}

}  // namespace
}  // namespace oddrank::collectives
