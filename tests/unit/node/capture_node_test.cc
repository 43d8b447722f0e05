// What capture_node() decides about jobs, on made-up captures.
#include "node/capture_node.h"

#include "tests/support/capture_builder.h"
#include "tests/support/catch.h"

namespace oddrank::node {
namespace {

std::vector<pid_t> pids_of(const snapshot::Capture& capture) {
  std::vector<pid_t> pids;
  for (const auto& process : capture.processes) {
    pids.push_back(process.pid);
  }
  return pids;
}

// Returns two jobs of two ranks each, and a loader worker of each job.
snapshot::Capture two_jobs() {
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
  CHECK(job_keys(snapshot::Capture()).empty());
}

TEST_CASE("a process without a rank's number names no job") {
  snapshot::Capture capture = two_jobs();
  for (auto& process : capture.processes) {
    process.rank = process.pid < 20 ? -1 : process.rank;
  }
  CHECK(job_keys(capture) == std::vector<std::string>{"slurm 6.0"});
}

TEST_CASE("if one job is wanted, its ranks and their children are kept") {
  snapshot::Capture capture = two_jobs();
  keep_job(capture, "slurm 7.0");
  CHECK(pids_of(capture) == std::vector<pid_t>{10, 11, 12});
  keep_job(capture, "slurm 6.0");
  CHECK(pids_of(capture).empty());
}

TEST_CASE("a child follows its owner, whatever its own job key says") {
  snapshot::Capture capture = two_jobs();
  capture.processes[2].job_key = capture.tables.string("slurm 6.0");
  keep_job(capture, "slurm 6.0");
  CHECK(pids_of(capture) == std::vector<pid_t>{20, 21, 22});
}

TEST_CASE("a capture has a rank only if its number is known") {
  CHECK_FALSE(has_rank(snapshot::Capture()));
  snapshot::Capture capture = two_jobs();
  CHECK(has_rank(capture));
  for (auto& process : capture.processes) {
    process.rank = -1;  // given by their pids
  }
  CHECK_FALSE(has_rank(capture));
}

}  // namespace
}  // namespace oddrank::node
