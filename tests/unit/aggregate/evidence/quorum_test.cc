// Replicas that meet at a lighthouse, to which too few have come.
#include "aggregate/evidence/quorum.h"

#include <string>
#include <vector>

#include "aggregate/diagnose.h"
#include "tests/support/catch.h"
#include "tests/support/hung_jobs.h"

namespace oddrank::aggregate {
namespace {

using tests::CaptureBuilder;

// Two replicas of one rank each in the quorum, and the lighthouse with these arguments.
CaptureBuilder at_lighthouse(const std::string& arguments) {
  CaptureBuilder job({"n0"}, 2);
  tests::ThreadSpec quorum = tests::in_all_reduce();
  quorum.call->op = "quorum";
  quorum.call->group = "lighthouse";
  quorum.call->whole_world = false;
  quorum.call->members = {0, 1};
  for (std::int32_t rank = 0; rank < 2; ++rank) {
    auto& process = job.rank(rank, "n0", 100 + rank);
    process.replica = job.capture.tables.string(std::to_string(rank));
    process.replica_rank = 0;
    process.job_key = job.capture.tables.string("torchft n0:29510");
    job.thread(process, quorum);
  }
  auto& lighthouse = job.rank(-1, "n0", 50);
  lighthouse.role = snapshot::JobRole::kServer;
  lighthouse.job_key = job.capture.tables.string("torchft n0:29510");
  lighthouse.command = job.capture.tables.string("torchft_lighthouse " + arguments);
  job.thread(lighthouse, tests::waiting_on(snapshot::WaitOn::kLock, ""));
  return job;
}

Verdict quorum_verdict(const std::string& arguments) {
  return diagnose(at_lighthouse(arguments).capture).verdict;
}

}  // namespace

TEST_CASE("quorum: fewer replicas have come than the lighthouse lets go") {
  for (const char* option : {"--min_replicas 3 --bind x", "--bind x --min_replicas=3"}) {
    const Verdict verdict = quorum_verdict(option);
    CHECK(verdict.kind == Kind::kRendezvous);
    CHECK(verdict.culprits.empty());
    CHECK(verdict.summary.find("to which 2 of at least 3 replicas have come") != std::string::npos);
  }
}

TEST_CASE("quorum: what the lighthouse wants is not known, or it has it") {
  for (const char* option : {"--min_replicas 2", "--min_replicas", "--min_replicas x", ""}) {
    CHECK(quorum_verdict(option).kind != Kind::kRendezvous);
  }
}

TEST_CASE("quorum: a replica that was found and has not come is another story") {
  CaptureBuilder job = at_lighthouse("--min_replicas 3");
  job.process(101).threads.clear();
  job.thread(job.process(101), tests::sleeping());
  const Verdict verdict = diagnose(job.capture).verdict;
  REQUIRE(verdict.culprits.size() == 1);
  CHECK(verdict.culprits[0].rank == 1);
}

}  // namespace oddrank::aggregate
