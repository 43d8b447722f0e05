#include "aggregate/evidence/slots.h"

#include "tests/support/catch.h"
#include "tests/support/hung_jobs.h"

namespace oddrank::aggregate {

using tests::CaptureBuilder;
using tests::ThreadSpec;

namespace {

std::vector<Slot> slots_of(const CaptureBuilder& job) {
  FrameModel model(job.capture.tables);
  const JobView view(job.capture, model);
  return find_slots(view);
}

ThreadSpec unknown_group() {
  ThreadSpec spec = tests::in_all_reduce();
  spec.call->whole_world = false;
  return spec;
}

}  // namespace

TEST_CASE("a slot of the world lacks the ranks that are elsewhere") {
  const auto slots = slots_of(tests::input_stall_job());
  REQUIRE(slots.size() == 1);
  CHECK(slots[0].membership == Membership::kKnown);
  CHECK(slots[0].absent == std::vector<std::size_t>{5});
}

TEST_CASE("a slot of a group lacks only its members") {
  const auto slots = slots_of(tests::three_dimensional_job());
  REQUIRE(slots.size() == 1);
  CHECK(slots[0].inside == std::vector<std::size_t>{0, 1, 3});
  CHECK(slots[0].absent == std::vector<std::size_t>{2});
}

TEST_CASE("an intercommunicator is one call, though its ranks know two groups") {
  ThreadSpec makes = unknown_group();
  makes.call->op = "intercomm_create";
  makes.call->group = "left";
  makes.call->members = {0, 1, 2, 3};
  CaptureBuilder job = tests::eight_ranks(makes);
  makes.call->group = "right";
  makes.call->members = {4, 5, 6, 7};
  for (const int rank : {4, 5, 6}) {
    tests::replace(job, rank, makes);
  }
  tests::replace(job, 7, tests::sleeping());
  const auto slots = slots_of(job);
  REQUIRE(slots.size() == 1);
  CHECK(slots[0].inside.size() == 7);
  CHECK(slots[0].absent == std::vector<std::size_t>{7});
}

TEST_CASE("a stopped rank and one in state D take no part") {
  CHECK(slots_of(tests::stopped_rank_job())[0].absent == std::vector<std::size_t>{2});
  auto job = tests::eight_ranks(tests::in_all_reduce());
  ThreadSpec stuck = tests::in_all_reduce();
  stuck.state = 'D';
  tests::replace(job, 6, stuck);
  CHECK(slots_of(job)[0].absent == std::vector<std::size_t>{6});
}

TEST_CASE("an unknown group lacks no rank") {
  const auto slots = slots_of(tests::unknown_job());
  REQUIRE(slots.size() == 1);
  CHECK(slots[0].membership == Membership::kUnknown);
  CHECK(slots[0].absent.empty());
}

TEST_CASE("an unknown group is guessed to be the world only if few are elsewhere") {
  auto job = tests::eight_ranks(unknown_group());
  tests::replace(job, 3, tests::sleeping());
  SECTION("one is elsewhere") {
    const auto slots = slots_of(job);
    CHECK(slots[0].membership == Membership::kAssumed);
    CHECK(slots[0].absent == std::vector<std::size_t>{3});
  }
  SECTION("another is in another call") {
    ThreadSpec other = unknown_group();
    other.call->op = "barrier";
    tests::replace(job, 4, other);
    for (const Slot& slot : slots_of(job)) {
      CHECK(slot.membership == Membership::kUnknown);
    }
  }
  SECTION("another waits at another place of the program") {
    ThreadSpec other = unknown_group();
    other.frames.push_back(tests::py("evaluate", "/home/ada/demo/eval.py", 3));
    tests::replace(job, 4, other);
    CHECK(slots_of(job)[0].membership == Membership::kUnknown);
  }
}

TEST_CASE("of two ranks, one that waits waits for the other") {
  CaptureBuilder job({"n0"}, 2);
  job.thread(job.rank(0, "n0", 10), unknown_group());
  job.thread(job.rank(1, "n0", 11), tests::sleeping());
  const auto slots = slots_of(job);
  CHECK(slots[0].membership == Membership::kAssumed);
  CHECK(slots[0].absent == std::vector<std::size_t>{1});
  CaptureBuilder three({"n0"}, 3);
  three.thread(three.rank(0, "n0", 10), unknown_group());
  three.thread(three.rank(1, "n0", 11), tests::sleeping());
  three.thread(three.rank(2, "n0", 12), tests::sleeping());
  CHECK(slots_of(three)[0].membership == Membership::kUnknown);
}

TEST_CASE("a rank whose own count shows that it made the call is not awaited there") {
  CaptureBuilder job = tests::eight_ranks(tests::in_all_reduce());
  for (const std::int32_t rank : {0, 1, 2, 3, 4, 5}) {
    job.process(tests::pid_of(rank)).threads[0].call->sequence = 12;
  }
  for (const std::int32_t rank : {6, 7}) {
    snapshot::ProcessCapture& process = job.process(tests::pid_of(rank));
    process.threads[0].call.reset();
    snapshot::ProcessGroup& group = process.groups.emplace_back();
    group.is_default = true;
    group.counters.emplace_back().collectives = rank == 6 ? 11 : 12;
  }
  auto slots = slots_of(job);
  REQUIRE(slots.size() == 1);
  CHECK(slots[0].absent == std::vector<std::size_t>{6});
  CHECK(slots[0].beside == std::vector<std::size_t>{7});
  // A rank that is in another call at this number has not made this one.
  snapshot::ThreadCapture& thread = job.process(tests::pid_of(7)).threads[0];
  thread.call = job.process(tests::pid_of(0)).threads[0].call;
  thread.call->op = job.capture.tables.string("barrier");
  CHECK(slots_of(job)[0].absent == std::vector<std::size_t>{6, 7});
  thread.call.reset();
  // A process that stands as a whole does nothing for the call.
  for (snapshot::ThreadSample& sample : job.process(tests::pid_of(7)).threads[0].samples.stored()) {
    sample.state = 'T';
  }
  slots = slots_of(job);
  CHECK(slots[0].absent == std::vector<std::size_t>{6, 7});
}

TEST_CASE("a rank that makes a default group which the others have begins again") {
  CaptureBuilder job = tests::eight_ranks(tests::in_all_reduce());
  const auto again = [&job] {
    FrameModel model(job.capture.tables);
    const JobView view(job.capture, model);
    std::size_t count = 0;
    for (const Slot& slot : find_slots(view)) {
      count += begins_again(view, slot) ? 1 : 0;
    }
    return count;
  };
  for (std::int32_t rank = 0; rank < 8; ++rank) {
    snapshot::ProcessCapture& process = job.process(tests::pid_of(rank));
    if (rank == 3) {
      snapshot::CollectiveCall& call = *process.threads[0].call;
      call = {};
      call.kind = snapshot::CallKind::kRendezvous;
      call.op = job.capture.tables.string("init_process_group");
      continue;
    }
    snapshot::ProcessGroup& group = process.groups.emplace_back();
    group.is_default = true;
    group.counters.emplace_back().collectives = 12;
  }
  CHECK(again() == 1);
  // One that has made no call there may still be on its way through the making of the group.
  job.process(tests::pid_of(5)).groups[0].counters[0].collectives = 0;
  CHECK(again() == 0);
  job.process(tests::pid_of(5)).groups[0].counters[0].collectives = 12;
  CHECK(again() == 1);
  // With a default group of its own it makes another one.
  job.process(tests::pid_of(3)).groups.emplace_back().is_default = true;
  CHECK(again() == 0);
}

TEST_CASE("groups of one name and other members are counted apart") {
  // torch counts the groups that a process makes: one that has left out new_group counts less.
  CaptureBuilder job = tests::eight_ranks(tests::in_all_reduce());
  auto& tables = job.capture.tables;
  snapshot::ProcessGroup& group = job.process(tests::pid_of(7)).groups.emplace_back();
  group.name = tables.string("1");
  group.counters.emplace_back().collectives = 12;
  job.process(tests::pid_of(7)).threads[0].call.reset();
  for (const std::int32_t rank : {0, 1, 2, 3, 4, 5, 6}) {
    snapshot::CollectiveCall& call = *job.process(tests::pid_of(rank)).threads[0].call;
    call.whole_world = false;
    call.group = group.name;
    call.members = tables.string("0-7");
    call.sequence = 12;
  }
  group.members = tables.string("0-7");
  CHECK(slots_of(job)[0].absent.empty());
  group.members = tables.string("6-7");
  CHECK(slots_of(job)[0].absent == std::vector<std::size_t>{7});
}

TEST_CASE("sequence numbers make slots") {
  auto job = tests::below_host_job();
  job.process(tests::pid_of(3)).threads[0].call->sequence = 1206;
  const auto slots = slots_of(job);
  REQUIRE(slots.size() == 2);
  CHECK(slots[0].sequence == 1207);
  CHECK(slots[1].inside == std::vector<std::size_t>{3});
  CHECK(slots[1].absent.size() == 7);
}

TEST_CASE("ranks that give different roots are not in the same call") {
  CaptureBuilder job = tests::eight_ranks(tests::in_all_reduce());
  const auto broadcast = [&job](std::int32_t rank, std::int32_t root, std::int64_t number) {
    auto& call = *job.process(tests::pid_of(rank)).threads[0].call;
    call.op = job.capture.tables.string("broadcast");
    call.root = root;
    call.sequence = number;
  };
  for (std::int32_t rank = 0; rank < 8; ++rank) {
    broadcast(rank, rank == 3 ? 3 : 0, 12);
  }
  auto slots = slots_of(job);
  REQUIRE(slots.size() == 2);
  CHECK(slots[0].root == 0);
  CHECK(slots[0].absent == std::vector<std::size_t>{3});
  CHECK(slots[1].inside == std::vector<std::size_t>{3});
  CHECK(slots[1].words.find("from rank 3") != std::string::npos);
  // A root that could not be read may be the same.
  broadcast(4, -1, 12);
  slots = slots_of(job);
  REQUIRE(slots.size() == 1);
  CHECK(slots[0].mixed);
  // Without numbers, one may be in the next call.
  for (std::int32_t rank = 0; rank < 8; ++rank) {
    broadcast(rank, rank == 3 ? 3 : 0, -1);
  }
  slots = slots_of(job);
  REQUIRE(slots.size() == 1);
  CHECK(slots[0].mixed);
}

TEST_CASE("a quorum may want one of several replicas, but all ranks of it") {
  auto job = tests::eight_ranks(tests::sleeping());
  ThreadSpec quorum = tests::in_all_reduce();
  quorum.call->op = "quorum";
  quorum.call->group = "lighthouse";
  quorum.call->whole_world = false;
  quorum.call->members = {0, 1, 2, 3, 4, 5, 6, 7};
  for (std::int32_t rank = 0; rank < 8; ++rank) {  // two ranks a replica
    job.process(tests::pid_of(rank)).replica_rank = rank % 2;
  }
  for (std::int32_t rank = 0; rank < 6; ++rank) {
    tests::replace(job, rank, quorum);
  }
  CHECK(slots_of(job)[0].absent == std::vector<std::size_t>{6, 7});
  CHECK_FALSE(lets_some_leave(slots_of(job)[0]));
  tests::replace(job, 4, tests::sleeping());
  CHECK(lets_some_leave(slots_of(job)[0]));
}

}  // namespace oddrank::aggregate
