// Launchers that wait for launchers of other nodes, as rows without a rank.

#include <string>
#include <vector>

#include "aggregate/diagnose.h"
#include "tests/support/capture_builder.h"
#include "tests/support/catch.h"

namespace oddrank::aggregate {

using tests::CaptureBuilder;
using tests::Frames;
using tests::py;
using tests::ThreadSpec;

namespace {

const std::string kAgent = "/venv/torch/distributed/elastic/agent/server/api.py";
const std::string kMeeting = "/venv/torch/distributed/elastic/rendezvous/dynamic_rendezvous.py";

// Adds a launcher at these frames, one frame of which has a local.
void add_launcher(CaptureBuilder& job,
                  const std::string& host,
                  pid_t pid,
                  const Frames& frames,
                  const std::string& name = "",
                  const std::string& value = "") {
  snapshot::ProcessCapture& process = job.rank(-1, host, pid);
  ThreadSpec spec;
  spec.frames = frames;
  spec.switch_step = 2;  // it polls
  snapshot::ThreadCapture& thread = job.thread(process, spec);
  if (!name.empty()) {
    snapshot::Tables& tables = job.capture.tables;
    thread.locals.push_back({0, {{tables.string(name), tables.string(value)}}});
  }
}

Frames in_rendezvous() {
  return {py("_DistributedRendezvousOpExecutor.run", kMeeting, 685),
          py("SimpleElasticAgent._rendezvous", kAgent, 528),
          py("main", "/venv/torch/distributed/run.py", 1028)};
}

Frames in_import() {
  return {py("<module>", "/venv/numpy/__init__.py", 3),
          py("<module>", "/venv/torch/distributed/run.py", 380)};
}

std::string dynamic(int come) {
  return "<_RendezvousContext state=<_RendezvousState participants=<dict of " +
         std::to_string(come) +
         "> round=0> settings=<RendezvousSettings run_id='night' min_nodes=3 max_nodes=3>>";
}

Verdict verdict_on(const CaptureBuilder& job) {
  return diagnose(job.capture).verdict;
}

}  // namespace

TEST_CASE("a launcher that polls for other nodes is not a healthy job") {
  CaptureBuilder job({"n0"}, -1);
  add_launcher(job, "n0", 70, in_rendezvous(), "ctx", dynamic(1));
  const Verdict verdict = verdict_on(job);
  CHECK(verdict.kind == Kind::kRendezvous);
  CHECK(verdict.culprits.empty());
  CHECK(verdict.summary ==
        "pid 70 (n0) is a launcher that waits for those of other nodes at rendezvous 'night': 1 of "
        "3 nodes has come");
}

TEST_CASE("launchers of several nodes: the latest word counts, and one elsewhere is named") {
  CaptureBuilder job({"n0", "n1", "n2"}, -1);
  add_launcher(job, "n0", 70, in_rendezvous(), "ctx", dynamic(1));
  add_launcher(job, "n1", 71, in_rendezvous(), "ctx", dynamic(2));
  add_launcher(job, "n2", 72, in_import());
  const Verdict verdict = verdict_on(job);
  CHECK(verdict.kind == Kind::kRendezvous);
  CHECK(verdict.summary.starts_with(
      "2 launchers wait for those of other nodes at rendezvous 'night': 2 of 3 nodes have come; "
      "pid 72 (n2) is in "));
  REQUIRE(verdict.culprits.size() == 1);
  CHECK(verdict.culprits[0].pid == 72);
}

TEST_CASE("numbered nodes: those without a launcher are listed") {
  CaptureBuilder job({"n0"}, -1);
  add_launcher(job, "n0", 70, in_rendezvous(), "self",
               "<StaticTCPRendezvous rank=1 world_size=4 master_addr='n9' master_port=29500>");
  CHECK(verdict_on(job).summary ==
        "pid 70 (n0) is a launcher that waits for those of other nodes at n9:29500: 4 nodes must "
        "come; no launcher of nodes 0,2-3 was found");
}

TEST_CASE("other processes without a rank are no launchers") {
  CaptureBuilder job({"n0"}, -1);
  add_launcher(job, "n0", 70, {py("_rendezvous", "/home/ada/meet.py", 3)});
  CHECK(verdict_on(job).kind != Kind::kRendezvous);
  CaptureBuilder importing({"n0"}, -1);
  add_launcher(importing, "n0", 70, in_import());
  CHECK(verdict_on(importing).kind != Kind::kRendezvous);
}

TEST_CASE("damaged locals give no numbers") {
  for (const std::string value :
       {"<_RendezvousContext ", "<_RendezvousContext state=<_RendezvousState participants=<dict of",
        "<StaticTCPRendezvous rank=-7 world_size=999999999999 master_addr='", ""}) {
    CaptureBuilder job({"n0"}, -1);
    add_launcher(job, "n0", 70, in_rendezvous(), "ctx", value);
    CHECK(verdict_on(job).kind == Kind::kRendezvous);
  }
}

}  // namespace oddrank::aggregate
