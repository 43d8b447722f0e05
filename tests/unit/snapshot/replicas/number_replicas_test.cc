// Numbers through a job of replicas.
#include "snapshot/replicas/number_replicas.h"

#include <string>

#include "snapshot/flight_record.h"
#include "snapshot/jobs/jobs.h"
#include "snapshot/merge.h"
#include "tests/support/capture_builder.h"
#include "tests/support/catch.h"

namespace oddrank::snapshot {
namespace {

using tests::CaptureBuilder;
using tests::ThreadSpec;

ThreadSpec in_call(std::string_view op, std::string_view group, bool whole_world = false) {
  ThreadSpec spec;
  spec.call.emplace();
  spec.call->op = op;
  spec.call->group = group;
  spec.call->whole_world = whole_world;
  return spec;
}

// Adds a replica of two ranks, which are in a call of their default group and in a quorum.
void add_replica(CaptureBuilder& job, std::string_view host, pid_t first, std::string_view name) {
  Tables& tables = job.capture.tables;
  for (const int rank : {0, 1}) {
    ProcessCapture& process = job.rank(rank, host, first + rank);
    process.world_size = 2;
    process.start_us = static_cast<std::uint64_t>(first);
    process.job_key = tables.string("torchft n0:29510");
    process.replica = tables.string(name);
    process.replica_rank = rank;
    process.groups.push_back(
        {tables.string("0"), {}, tables.string("gloo"), true, {}, {}, rank, 2});
    process.groups.push_back({tables.string("7"),
                              {},
                              tables.string("gloo"),
                              false,
                              tables.string("1,0"),
                              {},
                              1 - rank,
                              2});
    job.thread(process, in_call("all_reduce", "", true));
    ThreadSpec quorum = in_call("quorum", kLighthouse);
    quorum.python_name = "async_quorum_0";
    job.thread(process, quorum);
    job.thread(process, in_call("all_reduce", kAcrossReplicas));
  }
}

CaptureBuilder two_replicas() {
  CaptureBuilder job({"n0"}, -1);
  add_replica(job, "n0", 20, "n0:29502");
  add_replica(job, "n0", 10, "n0:29501");
  return job;
}

std::string members_of(const Capture& capture, const CollectiveCall& call) {
  return std::string(capture.tables.text(call.members));
}

}  // namespace

TEST_CASE("a rank of a replica keeps its title, however often it is numbered") {
  CaptureBuilder job = two_replicas();
  ProcessCapture& rank = job.process(21);
  rank.role = JobRole::kWorker;
  rank.label = job.capture.tables.string("Worker_TP1");
  for (int again = 0; again < 2; ++again) {
    number_replicas(job.capture);
    CHECK(job.capture.tables.text(job.process(21).label) == "Worker_TP1 of replica 1");
    CHECK(job.capture.tables.text(job.process(20).label) == "rank 0 of replica 1");
  }
}

TEST_CASE("the ranks of replicas get numbers in the order of their start, and say their places") {
  CaptureBuilder job = two_replicas();
  ProcessCapture& child = job.child(21, "n0", 25);
  child.job_key = job.process(21).job_key;
  child.replica = job.process(21).replica;
  child.replica_rank = 1;
  number_replicas(job.capture);
  CHECK(job.process(10).rank == 0);
  CHECK(job.process(11).rank == 1);
  CHECK(job.process(20).rank == 2);
  CHECK(job.process(25).rank == job.process(21).rank);
  CHECK(job.capture.tables.text(job.process(21).label) == "rank 1 of replica 1");
  CHECK(job.capture.job.world_size == 4);
  CHECK(world_size_of(job.capture) == 4);
}

TEST_CASE("groups and calls name the ranks of a replica by their numbers in the job") {
  CaptureBuilder job = two_replicas();
  number_replicas(job.capture);
  const Capture& capture = job.capture;
  const ProcessCapture& process = job.process(21);
  CHECK_FALSE(process.groups[0].is_default);
  CHECK(capture.tables.text(process.groups[0].members) == "2-3");
  CHECK(capture.tables.text(process.groups[1].members) == "3,2");
  const CollectiveCall& own = *process.threads[0].call;
  CHECK_FALSE(own.whole_world);
  CHECK(is_group_of(process.groups[0], own));
  CHECK(members_of(capture, own) == "2-3");
  CHECK(members_of(capture, *process.threads[1].call) == "0-3");
  CHECK(capture.tables.text(process.threads[1].call->label) == "lighthouse n0:29510");
  CHECK(members_of(capture, *process.threads[2].call) == "1,3");
}

TEST_CASE("a replica that has not called for a quorum is in no group that one has made") {
  CaptureBuilder job = two_replicas();
  job.process(11).threads.erase(job.process(11).threads.begin() + 1);
  number_replicas(job.capture);
  CHECK(members_of(job.capture, *job.process(21).threads[2].call) == "3");
}

TEST_CASE("the number that a replica was given goes before the order of the starts") {
  CaptureBuilder job = two_replicas();
  Tables& tables = job.capture.tables;
  for (ProcessCapture& process : job.capture.processes) {
    process.environment.emplace_back(tables.string("REPLICA_GROUP_ID"),
                                     tables.string(process.pid < 20 ? "5" : "3"));
  }
  number_replicas(job.capture);
  CHECK(job.process(20).rank == 0);
  CHECK(job.capture.tables.text(job.process(10).label) == "rank 0 of replica 5");
}

TEST_CASE("replicas are numbered anew when nodes are added, and only once otherwise") {
  CaptureBuilder one = two_replicas();
  number_replicas(one.capture);
  const auto before = one.capture.processes;
  number_replicas(one.capture);
  CHECK(one.capture.processes == before);
  CaptureBuilder other({"n1"}, -1);
  add_replica(other, "n1", 5, "n0:29501");  // the name of another one, and its numbers
  number_replicas(other.capture);
  Capture whole;
  Merger merger(whole);
  merger.add(std::move(one.capture));
  merger.add(std::move(other.capture));
  number_replicas(whole);
  CHECK(whole.job.world_size == 6);
  const ProcessCapture& last = whole.processes.back();
  CHECK(last.rank == 5);
  CHECK(whole.tables.text(last.groups[1].members) == "5,4");
  CHECK(members_of(whole, *last.threads[1].call) == "0-5");
}

TEST_CASE("recorders of replicas say which ranks their groups have") {
  CaptureBuilder job = two_replicas();
  Tables& tables = job.capture.tables;
  for (const pid_t pid : {20, 99}) {
    FlightRecord& record = job.capture.collectives.flight.emplace_back();
    record.rank = 0;
    record.pid = pid;
    record.groups.push_back({tables.string("0"), tables.string(kDefaultGroup)});
    record.groups.push_back({tables.string("7")});
  }
  number_replicas(job.capture);
  REQUIRE(job.capture.collectives.flight.size() == 1);  // of the other, the replica is not known
  const FlightRecord& record = job.capture.collectives.flight[0];
  CHECK(record.rank == 2);
  CHECK(tables.text(record.groups[0].members) == "2-3");
  CHECK(tables.text(record.groups[1].members) == "3,2");
}

}  // namespace oddrank::snapshot
