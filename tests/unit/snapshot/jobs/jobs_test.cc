// The jobs of made-up captures.
#include "snapshot/jobs/jobs.h"

#include "tests/support/capture_builder.h"
#include "tests/support/catch.h"

namespace oddrank::snapshot {
namespace {

std::vector<pid_t> pids_of(const Capture& capture) {
  std::vector<pid_t> pids;
  for (const auto& process : capture.processes) {
    pids.push_back(process.pid);
  }
  return pids;
}

// Returns two jobs of two ranks each, and a loader worker of each job.
Capture two_jobs() {
  tests::CaptureBuilder job({"n0"}, 2);
  job.rank(0, "n0", 10);
  job.rank(1, "n0", 11);
  job.child(11, "n0", 12);
  job.rank(0, "n0", 20);
  job.rank(1, "n0", 21);
  job.child(20, "n0", 22);
  for (auto& process : job.capture.processes) {
    process.job_key = job.capture.tables.string(process.pid < 20 ? "slurm 7.0" : "slurm 6.0");
  }
  return job.take();
}

TEST_CASE("the jobs of a capture are those of its ranks, sorted, each once") {
  CHECK(job_keys(two_jobs()) == std::vector<std::string>{"slurm 6.0", "slurm 7.0"});
  CHECK(job_keys(Capture()).empty());
}

TEST_CASE("a process without a rank's number names no job") {
  Capture capture = two_jobs();
  for (auto& process : capture.processes) {
    process.rank = process.pid < 20 ? -1 : process.rank;
  }
  CHECK(job_keys(capture) == std::vector<std::string>{"slurm 6.0"});
}

TEST_CASE("if one job is wanted, its ranks and their children are kept") {
  Capture capture = two_jobs();
  keep_job(capture, "slurm 7.0");
  CHECK(pids_of(capture) == std::vector<pid_t>{10, 11, 12});
  keep_job(capture, "slurm 6.0");
  CHECK(pids_of(capture).empty());
}

TEST_CASE("a SLURM job may be asked for by its number") {
  for (const char* wanted : {"slurm 7.0", "slurm 7", "7", "7.0"}) {
    Capture capture = two_jobs();
    REQUIRE(select_job(capture, wanted));
    CHECK(pids_of(capture) == std::vector<pid_t>{10, 11, 12});
  }
}

TEST_CASE("a job that is not here is refused with those that are") {
  for (const char* wanted : {"slurm 8.0", "8", "slurm", "7.00", "", "\x1b[0m"}) {
    Capture capture = two_jobs();
    const Status selected = select_job(capture, wanted);
    REQUIRE_FALSE(selected);
    CHECK(selected.error().code == Errc::kNotFound);
    CHECK(selected.error().what.find('\x1b') == std::string::npos);
    CHECK(selected.error().hint.find("--select 'slurm 6.0'\n  --select 'slurm 7.0'") !=
          std::string::npos);
    CHECK(capture.processes.size() == 6);
  }
  Capture nothing;
  CHECK(select_job(nothing, "8"));
}

// Beside the ranks of another job, too.
TEST_CASE("a job of which only a child outlives its rank may be asked for") {
  Capture capture = two_jobs();
  std::erase_if(capture.processes,
                [](const auto& process) { return process.pid == 10 || process.pid == 11; });
  REQUIRE(capture.processes.front().pid == 12);
  capture.processes.front().outlives_rank = true;
  capture.processes.front().owner = -1;
  REQUIRE(select_job(capture, "7"));
  CHECK(pids_of(capture) == std::vector<pid_t>{12});
}

TEST_CASE("a number that means several steps is not enough") {
  Capture capture = two_jobs();
  for (auto& process : capture.processes) {
    process.job_key = capture.tables.string(process.pid < 20 ? "slurm 7.0" : "slurm 7.1");
  }
  const Status selected = select_job(capture, "7");
  REQUIRE_FALSE(selected);
  CHECK(selected.error().code == Errc::kUsage);
  CHECK(selected.error().hint.find("--select 'slurm 7.1'") != std::string::npos);
}

TEST_CASE("a child follows its owner, whatever its own job key says") {
  Capture capture = two_jobs();
  capture.processes[2].job_key = capture.tables.string("slurm 6.0");
  keep_job(capture, "slurm 6.0");
  CHECK(pids_of(capture) == std::vector<pid_t>{20, 21, 22});
}

TEST_CASE("a capture has a rank only if its number is known") {
  CHECK_FALSE(has_rank(Capture()));
  Capture capture = two_jobs();
  CHECK(has_rank(capture));
  for (auto& process : capture.processes) {
    process.rank = -1;  // given by their pids
  }
  CHECK_FALSE(has_rank(capture));
}

TEST_CASE("processes of different nodes with one pid are told apart") {
  tests::CaptureBuilder job({"n0", "n1"}, 2);
  job.rank(0, "n0", 10);
  job.rank(1, "n1", 10);
  job.capture.processes[0].job_key = job.capture.tables.string("slurm 7.0");
  job.capture.processes[1].job_key = job.capture.tables.string("slurm 7.1");
  job.capture.nodes[0].expected_ranks = {0};
  job.capture.nodes[1].expected_ranks = {1};
  Capture capture = job.take();
  keep_job(capture, "slurm 7.1");
  REQUIRE(capture.processes.size() == 1);
  CHECK(capture.processes[0].node == 1);
  CHECK(capture.nodes[0].expected_ranks.empty());
  CHECK(capture.nodes[1].expected_ranks == std::vector<std::int32_t>{1});
}

TEST_CASE("jobs that train are judged, however small, and the largest of them first") {
  Capture capture = two_jobs();
  for (auto& process : capture.processes) {
    process.python_version = {};
    process.executable = {};
  }
  const auto keys = [&capture] {
    std::string list;
    for (const JobShare& job : jobs_to_judge(capture)) {
      list += (list.empty() ? "" : ", ") + job.key;
    }
    return list;
  };
  CHECK(keys() == "slurm 6.0, slurm 7.0");  // no job is more than the other
  capture.processes[1].python_version = capture.tables.string("3.11.7");
  CHECK(keys() == "slurm 7.0");
  capture.processes[4].executable = capture.tables.string("/usr/bin/python3");
  CHECK(keys() == "slurm 6.0, slurm 7.0");
  capture.processes[0].communicates = true;
  CHECK(keys() == "slurm 7.0");
  capture.processes[4].groups.emplace_back();
  capture.processes[1].rank = -1;
  CHECK(keys() == "slurm 6.0, slurm 7.0");
}

}  // namespace
}  // namespace oddrank::snapshot
