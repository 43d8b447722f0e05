// A job of which no rank was seen, for whatever reason: no rank waits, so none is missing.
#include <algorithm>
#include <string>
#include <utility>

#include "aggregate/diagnose.h"
#include "base/ascii.h"
#include "tests/support/capture_builder.h"
#include "tests/support/catch.h"
#include "tests/support/hung_jobs.h"

namespace oddrank::aggregate {
namespace {

TEST_CASE("missing_rank: nobody is named if no rank was seen at all") {
  for (const bool listed : {false, true}) {
    tests::CaptureBuilder job({"n0", "n1"}, 4);
    if (listed) {  // by the launcher
      job.capture.nodes[0].expected_ranks = {0, 1};
      job.capture.nodes[1].expected_ranks = {2, 3};
    }
    const Diagnosis report = diagnose(job.capture);
    CHECK(report.verdict.kind == Kind::kUnknown);
    CHECK(report.verdict.culprits.empty());
    CHECK(report.coverage.read == 0);
    CHECK(report.coverage.expected == 4);
  }
}

TEST_CASE("missing_rank: advice on a process without a number, and outside of SLURM") {
  tests::CaptureBuilder job = tests::eight_ranks(tests::at_python_lock());
  job.capture.job = {};
  job.capture.job.world_size = -1;
  for (snapshot::ProcessCapture& process : job.capture.processes) {
    process.rank = process.world_size = -1;
  }
  job.capture.processes[3].state = 'Z';
  const Verdict verdict = diagnose(job.capture).verdict;
  REQUIRE(verdict.kind == Kind::kMissingRank);
  REQUIRE(!verdict.advice.empty());
  const std::string pid = std::to_string(tests::pid_of(3));
  CHECK(verdict.advice.front().words() ==
        "look for the last lines of pid " + pid + " in the job's output");
  CHECK(std::ranges::none_of(verdict.advice, [](const Advice& advice) {
    return advice.words().find("srun") != std::string::npos;
  }));
}

// A job whose rank 7 has no process, with srun's word on the end of its task 7.
tests::CaptureBuilder ended_task(const std::string& tasks, const std::string& step) {
  tests::CaptureBuilder job = tests::missing_rank_job();
  job.capture.nodes.front().expected_ranks = {7};
  auto& tables = job.capture.tables;
  for (auto& process : job.capture.processes) {
    for (const auto& [name, value] :
         {std::pair<std::string, std::string>{"SLURM_PROCID", std::to_string(process.rank)},
          {"SLURM_STEP_NUM_TASKS", tasks},
          {"SLURM_STEP_ID", step}}) {
      process.environment.emplace_back(tables.string(name), tables.string(value));
    }
  }
  job.capture.collectives.log.push_back(
      {.kind = snapshot::LogKind::kTaskEnd,
       .behind = {7},
       .text = tables.string("srun: error: n3: task 7: Exited with exit code 3")});
  return job;
}

TEST_CASE("missing_rank: how SLURM's daemon says that a task ended") {
  const auto summary_of = [](std::int32_t rank, std::int64_t status, std::uint32_t node = 0) {
    tests::CaptureBuilder job = ended_task("8", "0");
    job.capture.collectives.log.push_back({.node = node,
                                           .kind = snapshot::LogKind::kTaskStatus,
                                           .rank = rank,
                                           .sequence = status,
                                           .behind = {rank}});
    return diagnose(job.capture).verdict.summary;
  };
  CHECK(contains(summary_of(7, 0), "rank 7 (n0) has ended: exit code 0, says SLURM"));
  CHECK(contains(summary_of(7, 9), "rank 7 (n0) has ended: killed by signal 9, says SLURM"));
  CHECK_FALSE(contains(summary_of(7, 0, 1), "says SLURM"));  // a task of another step, on n1
  // Another rank, which has a process; and what is no status.
  CHECK_FALSE(contains(summary_of(6, 0), "says SLURM"));
  CHECK_FALSE(contains(summary_of(7, -1), "says SLURM"));
  CHECK_FALSE(contains(summary_of(7, 0x10000), "says SLURM"));
}

TEST_CASE("missing_rank: srun's words, if its tasks are the ranks of the first step") {
  const auto summary_of = [](tests::CaptureBuilder job) {
    const Diagnosis report = diagnose(job.capture);
    CHECK(report.verdict.kind == Kind::kMissingRank);
    return report.verdict.summary;
  };
  constexpr const char* kWords = "rank 7 (n0) has ended: \"Exited with exit code 3\", says srun";
  CHECK(contains(summary_of(ended_task("8", "0")), kWords));
  CHECK_FALSE(contains(summary_of(ended_task("16", "0")), "srun"));  // one may be a helper
  CHECK_FALSE(contains(summary_of(ended_task("8", "1")), "srun"));   // the first step's line
  tests::CaptureBuilder requeued = ended_task("8", "0");
  for (auto& process : requeued.capture.processes) {
    process.environment.emplace_back(requeued.capture.tables.string("SLURM_RESTART_COUNT"),
                                     requeued.capture.tables.string("1"));
  }
  CHECK_FALSE(contains(summary_of(std::move(requeued)), "srun"));
}

}  // namespace
}  // namespace oddrank::aggregate
