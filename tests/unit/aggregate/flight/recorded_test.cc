// Dumps of flight recorders beside stacks: what they decide, and what they must not.
#include <algorithm>

#include "aggregate/diagnose.h"
#include "report/report_json.h"
#include "tests/support/catch.h"
#include "tests/support/hung_jobs.h"
#include "tests/support/recorders.h"

namespace oddrank::aggregate {
namespace {

using tests::CaptureBuilder;
using tests::Recorders;

constexpr std::uint64_t kSecondUs = 1'000'000;
const std::vector<std::int32_t> kWorld = {0, 1, 2, 3, 4, 5, 6, 7};

std::uint64_t looked_us(const CaptureBuilder& job) {
  std::uint64_t last = 0;
  for (const auto& process : job.capture.processes) {
    last = std::max(last, process.read_us);
  }
  return last;
}

Recorders recorders_of(const CaptureBuilder& job) {
  Recorders recorders(8);
  recorders.description = "default_pg";
  recorders.created_us = looked_us(job) - 5 * kSecondUs;
  recorders.call("0", kWorld, kWorld, "all_reduce", true);
  return recorders;
}

std::vector<std::int32_t> recorded_culprits(const Diagnosis& report) {
  std::vector<std::int32_t> ranks;
  for (const Culprit& one : report.verdict.culprits) {
    ranks.push_back(one.rank);
  }
  return ranks;
}

TEST_CASE("recorded: a size that differs is on no stack, and is the verdict") {
  CaptureBuilder job = tests::eight_ranks(tests::in_all_reduce());
  Recorders recorders = recorders_of(job);
  recorders.call("0", kWorld, {0, 1, 2, 3, 4, 5, 7}, "all_reduce", false, 4);
  recorders.call("0", kWorld, {6}, "all_reduce", false, 8);
  SECTION("of this hang") {
    recorders.into(job.capture, looked_us(job) + kSecondUs);
    const Diagnosis report = diagnose(job.capture);
    INFO(report.verdict.summary);
    CHECK(report.verdict.kind == Kind::kMismatchedCollective);
    CHECK(report.verdict.confidence == Confidence::kLikely);
    CHECK(recorded_culprits(report) == std::vector<std::int32_t>{6});
    CHECK(report.verdict.culprits[0].pid == tests::pid_of(6));
    REQUIRE(report.sources.size() == 1);
    CHECK(report.sources[0].agrees == true);
  }
  SECTION("from memory, beside stacks that stand still") {
    for (snapshot::FlightRecord& record : recorders.records) {
      record.from_memory = true;
    }
    recorders.into(job.capture, looked_us(job) + kSecondUs);
    const Diagnosis report = diagnose(job.capture);
    CHECK(report.verdict.kind == Kind::kMismatchedCollective);
    CHECK(report.verdict.confidence == Confidence::kCertain);
    CHECK(recorded_culprits(report) == std::vector<std::int32_t>{6});
    CHECK(report.verdict.history.size() == 2);
  }
  SECTION("of an hour ago, when the job was still well") {
    recorders.into(job.capture, looked_us(job) - 4 * kSecondUs);
    const Diagnosis report = diagnose(job.capture);
    CHECK(report.verdict.kind != Kind::kMismatchedCollective);
    CHECK(report.verdict.culprits.empty());
    REQUIRE(report.sources.size() == 1);
    CHECK(report.sources[0].text.find("Nothing shows that this is the hang") != std::string::npos);
  }
}

TEST_CASE("recorded: of two equal sides, the one that left its own pattern is named") {
  const std::vector<std::int32_t> stay = {0, 1, 2, 3};
  const std::vector<std::int32_t> leave = {4, 5, 6, 7};
  for (const int steps : {0, 6}) {  // without a past, both
    CaptureBuilder job = tests::eight_ranks(tests::in_all_reduce());
    tests::ThreadSpec barrier = tests::in_all_reduce();
    barrier.call->op = "barrier";
    for (const std::int32_t rank : leave) {
      replace(job, rank, barrier);
    }
    Recorders recorders = recorders_of(job);
    for (int step = 0; step < steps; ++step) {
      recorders.call("0", kWorld, kWorld, "all_reduce", true);
    }
    recorders.call("0", kWorld, stay, "all_reduce", false);
    recorders.call("0", kWorld, leave, "barrier", false);
    for (snapshot::FlightRecord& record : recorders.records) {
      record.from_memory = true;
    }
    recorders.into(job.capture, looked_us(job) + kSecondUs);
    const Diagnosis report = diagnose(job.capture);
    INFO(report.verdict.summary);
    CHECK(report.verdict.kind == Kind::kMismatchedCollective);
    CHECK(recorded_culprits(report) == (steps == 0 ? kWorld : leave));
  }
}

TEST_CASE("recorded: a device that is in none of the rank's calls does something of its own") {
  CaptureBuilder job = tests::eight_ranks(tests::in_all_reduce());
  for (const std::int32_t rank : {5, 6}) {
    replace(job, rank, tests::waiting_on(snapshot::WaitOn::kDevice));
  }
  // Not noted: TORCH_NCCL_BLOCKING_WAIT. Given up: the watchdog has lost patience.
  for (const auto& [noted, given_up] : {std::pair(true, false), {false, false}, {true, true}}) {
    Recorders recorders = recorders_of(job);
    recorders.call("0", kWorld, {0, 1, 2, 3, 4, 7}, "all_reduce", false);
    if (given_up) {
      recorders.records[6].entries.back().state = snapshot::FlightState::kScheduled;
    }
    for (std::int32_t rank = 0; rank < 8; ++rank) {
      snapshot::FlightRecord& record = recorders.records[static_cast<std::size_t>(rank)];
      record.from_memory = true;
      record.pid = tests::pid_of(rank);
      record.node = static_cast<std::uint32_t>(rank / 2);
      for (snapshot::FlightEntry& entry : record.entries) {
        entry.backend = recorders.texts.string("nccl");
        entry.retired = noted && (rank == 6 || entry.state == snapshot::FlightState::kCompleted);
      }
    }
    recorders.remove(5);  // of rank 5 nothing is known
    job.capture.collectives.flight.clear();
    recorders.into(job.capture, looked_us(job) + kSecondUs);
    const Verdict verdict = diagnose(job.capture).verdict;
    INFO(verdict.summary);
    const std::vector<std::int32_t> only = {6};
    CHECK((recorded_culprits(diagnose(job.capture)) == only) == (noted && !given_up));
  }
}

TEST_CASE("recorded: a call whose age the recorder knows is not young, though the ranks poll") {
  const std::vector<std::int32_t> waiting = {0, 1, 2, 3, 4, 5, 7};
  for (const std::uint64_t age : {1U, 20U}) {
    CaptureBuilder job = tests::eight_ranks(tests::in_all_reduce());
    replace(job, 6, tests::sleeping());
    for (const std::int32_t rank : waiting) {
      snapshot::ProcessCapture& process = job.process(tests::pid_of(rank));
      snapshot::ThreadCapture& thread = process.threads[0];
      thread.wait.quiet_ms = 1;
      thread.samples.edit_back().voluntary_switches += 900;
      thread.call->sequence = 2;
      snapshot::ProcessGroup& group = process.groups.emplace_back();
      group.name = job.capture.tables.string("0");
      group.is_default = true;
    }
    Recorders recorders = recorders_of(job);
    recorders.created_us = looked_us(job) - age * kSecondUs;
    recorders.call("0", kWorld, waiting, "all_reduce", false);
    for (std::int32_t rank = 0; rank < 8; ++rank) {
      snapshot::FlightRecord& record = recorders.records[static_cast<std::size_t>(rank)];
      record.from_memory = true;
      record.pid = tests::pid_of(rank);
      record.node = static_cast<std::uint32_t>(rank / 2);
    }
    recorders.into(job.capture, looked_us(job) + kSecondUs);
    const Verdict verdict = diagnose(job.capture).verdict;
    INFO(verdict.summary);
    CHECK((verdict.summary.find("may only be slow") == std::string::npos) == (age > 5));
  }
}

TEST_CASE("recorded: a call of one backend of a group is not made by calls of the other") {
  for (const bool both : {true, false}) {
    CaptureBuilder job = tests::eight_ranks(tests::in_all_reduce());
    Recorders recorders = recorders_of(job);
    const auto add_counts = [&job](std::int32_t rank, std::int64_t nccl, std::int64_t sequence) {
      snapshot::ProcessCapture& process = job.process(tests::pid_of(rank));
      process.threads[0].call->sequence = sequence;
      snapshot::ProcessGroup& group = process.groups.emplace_back();
      group.name = job.capture.tables.string("0");
      group.is_default = true;
      group.counters.push_back({job.capture.tables.string("nccl"), nccl});
      group.counters.push_back({job.capture.tables.string("gloo"), 1, -1, -1, -1, true});
    };
    for (const std::int32_t rank : kWorld) {
      add_counts(rank, rank == 0 ? 1 : 2, rank == 0 ? 1 : 2);
      if (rank == 0 || both) {
        recorders.call("0", kWorld, {rank}, "all_reduce", false);
      }
    }
    for (snapshot::FlightRecord& record : recorders.records) {
      record.from_memory = true;
      record.pid = tests::pid_of(record.rank);
      record.node = static_cast<std::uint32_t>(record.rank / 2);
      record.entries.front().backend = recorders.texts.string("nccl");
      if (record.entries.size() > 1) {  // rank 0 waits in a call of gloo, and the others may not
        record.entries.back().backend = recorders.texts.string(record.rank == 0 ? "gloo" : "nccl");
        record.entries.back().sequence = record.rank == 0 ? 1 : 2;
      }
    }
    recorders.into(job.capture, looked_us(job) + kSecondUs);
    const Diagnosis report = diagnose(job.capture);
    INFO(report.verdict.summary);
    CHECK(report.verdict.kind == Kind::kSkippedCollective);
    CHECK(recorded_culprits(report) == std::vector<std::int32_t>{0});
  }
}

TEST_CASE("recorded: a rank other than the stacks name is reported, and decides nothing") {
  CaptureBuilder job = tests::input_stall_job();  // rank 5
  Recorders recorders = recorders_of(job);
  recorders.call("0", kWorld, {0, 1, 3, 4, 5, 6, 7}, "all_reduce", false);  // without 2
  recorders.into(job.capture, looked_us(job) + kSecondUs);
  const Diagnosis report = diagnose(job.capture);
  INFO(report.verdict.summary);
  CHECK(report.verdict.kind == Kind::kInputStall);
  CHECK(recorded_culprits(report) == std::vector<std::int32_t>{5});
  REQUIRE(report.sources.size() == 1);
  CHECK(report.sources[0].agrees == false);
  CHECK(report.notes.back().find("disagrees") != std::string::npos);
  CHECK(report::report_json(report, job.capture).find("\"agrees\": false") != std::string::npos);
}

// Rank 2 has not called, for it waits at a lock that rank 3 has, which has called, and sleeps.
TEST_CASE("recorded: a rank that waits for the one that is named does not speak against it") {
  CaptureBuilder job = tests::eight_ranks(tests::in_all_reduce());
  tests::ThreadSpec waits;
  waits.frames = {tests::native("flock", "libc.so.6"), tests::py("load", "/job/train.py", 9)};
  waits.wait.on = snapshot::WaitOn::kFileLock;
  waits.wait.path = "/data/.lock";
  waits.wait.holder_pid = tests::pid_of(3);  // of its node
  waits.wait.holder_alive = snapshot::Known::kYes;
  tests::replace(job, 2, waits);
  tests::replace(job, 3, tests::sleeping());
  Recorders recorders = recorders_of(job);
  recorders.call("0", kWorld, {0, 1, 3, 4, 5, 6, 7}, "all_reduce", false);
  recorders.into(job.capture, looked_us(job) + kSecondUs);
  const Diagnosis report = diagnose(job.capture);
  INFO(report.verdict.summary);
  CHECK(recorded_culprits(report) == std::vector<std::int32_t>{3});
  REQUIRE(report.sources.size() == 1);
  CHECK(report.sources[0].ranks == std::vector<std::int32_t>{2});
  CHECK_FALSE(report.sources[0].agrees.has_value());
}

TEST_CASE("notes: those of the job come first and name no node") {
  CaptureBuilder job = tests::input_stall_job();
  job.capture.nodes[0].notes = {"a late look"};
  job.capture.job.notes = {"the job has run for 2 h"};
  const Diagnosis report = diagnose(job.capture);
  REQUIRE(report.notes.size() == 2);
  CHECK(report.notes[0] == "the job has run for 2 h");
  CHECK(report.notes[1] == job.capture.nodes[0].host + ": a late look");
}

TEST_CASE("recorded: the rank's own stack explains more than that its call is missing") {
  CaptureBuilder job = tests::input_stall_job();
  Recorders recorders = recorders_of(job);
  recorders.call("0", kWorld, {0, 1, 2, 3, 4, 6, 7}, "all_reduce", false);
  recorders.into(job.capture, looked_us(job) + kSecondUs);
  const Diagnosis report = diagnose(job.capture);
  CHECK(report.verdict.kind == Kind::kInputStall);
  CHECK(recorded_culprits(report) == std::vector<std::int32_t>{5});
  CHECK(report.sources.at(0).agrees == true);
}

TEST_CASE("recorded: an answer that the stacks give too is a source, and no alternative") {
  CaptureBuilder job = tests::skipped_collective_job();  // rank 3
  Recorders recorders = recorders_of(job);
  recorders.call("0", kWorld, {0, 1, 2, 4, 5, 6, 7}, "all_reduce", false);
  for (snapshot::FlightRecord& record : recorders.records) {
    record.from_memory = true;
  }
  recorders.into(job.capture, looked_us(job) + kSecondUs);
  const Diagnosis report = diagnose(job.capture);
  CHECK(report.verdict.kind == Kind::kSkippedCollective);
  CHECK(recorded_culprits(report) == std::vector<std::int32_t>{3});
  CHECK(report.verdict.alternatives.empty());
  CHECK(report.sources.at(0).agrees == true);
}

// Returns the report on a job in which all other ranks wait for these in an all_reduce, by the
// calls in their memory.
Diagnosis without(const std::vector<std::int32_t>& ranks, const tests::ThreadSpec& spec) {
  CaptureBuilder job = tests::eight_ranks(tests::in_all_reduce());
  Recorders recorders = recorders_of(job);
  for (const std::int32_t rank : kWorld) {
    if (std::find(ranks.begin(), ranks.end(), rank) == ranks.end()) {
      recorders.call("0", kWorld, {rank}, "all_reduce", false);
    } else {
      tests::replace(job, rank, spec);
    }
  }
  for (snapshot::FlightRecord& record : recorders.records) {
    record.from_memory = true;
  }
  recorders.into(job.capture, looked_us(job) + kSecondUs);
  return diagnose(job.capture);
}

TEST_CASE(
    "recorded: a rank that waits for a message, from whom is not known, is possible at most") {
  tests::ThreadSpec spec = tests::waiting_on(snapshot::WaitOn::kPipe, "pipe:[31]");
  SECTION("in a pipe") {}
  SECTION("at a connection to come") {
    spec = tests::waiting_on(snapshot::WaitOn::kSocket);
  }
  SECTION("at a semaphore that processes share") {
    spec = tests::waiting_on(snapshot::WaitOn::kLock);
    spec.wait.how = snapshot::WaitHow::kLock;
    spec.wait.lock.kind = snapshot::LockKind::kShared;
  }
  SECTION("at another lock that processes share") {
    spec = tests::waiting_on(snapshot::WaitOn::kLock);
    spec.wait.lock.shared = true;
  }
  const Diagnosis report = without({3}, spec);
  INFO(report.verdict.summary);
  CHECK(report.verdict.confidence == Confidence::kPossible);
  CHECK(recorded_culprits(report) == std::vector<std::int32_t>{3});
  // If there are several, each may wait for any other.
  CHECK(without({3, 4}, spec).verdict.culprits.empty());
}

TEST_CASE("recorded: ranks that receive, from whom is not known, are not named") {
  tests::ThreadSpec spec = tests::in_all_reduce();
  spec.call = tests::CallSpec{};
  spec.call->op = "recv";
  spec.call->kind = snapshot::CallKind::kRecv;
  for (const auto& ranks : {std::vector<std::int32_t>{3}, std::vector<std::int32_t>{3, 4}}) {
    const Diagnosis report = without(ranks, spec);
    INFO(report.verdict.summary);
    CHECK(report.verdict.kind == Kind::kUnknown);
  }
}

TEST_CASE("recorded: a capture without dumps has no sources") {
  const Diagnosis report = diagnose(tests::input_stall_job().capture);
  CHECK(report.sources.empty());
}

}  // namespace
}  // namespace oddrank::aggregate
