#include "slurm/job.h"

#include "slurm/can_collect.h"
#include "slurm/job_text.h"
#include "tests/support/catch.h"
#include "tests/unit/slurm/recorded.h"

namespace oddrank::slurm {
namespace {

TEST_CASE("a running job is read, whatever its owner wrote into name and comment") {
  const Job job = parsed(recorded::kRunning);
  CHECK(job.id == "3");
  CHECK(job.name == "train it = 7B (v2)");
  CHECK(job.user == "labuser");
  CHECK(job.uid == 1000);
  CHECK(job.state == "RUNNING");
  CHECK(job.reason.empty());
  CHECK(job.node_list == "n[0-3]");
  CHECK(job.tasks == 8);
  CHECK(job.elapsed_s == 4);
  CHECK(job.time_left_s == 1796);
  CHECK(job.stdout_path == "/shared/out dir/train it = 7B (v2)-3.out");
  CHECK(job.requeue == true);
  CHECK(job.restarts == 0);
}

TEST_CASE("a pending job has a reason and no nodes") {
  const Job job = parsed(recorded::kPending);
  CHECK(job.state == "PENDING");
  CHECK(job.reason == "Resources");
  CHECK(job.node_list.empty());
  CHECK(job.end_time == "Unknown");
}

TEST_CASE("for an array the running task is taken, with its own number") {
  const Job waiting = parsed(recorded::kArrayTask);
  CHECK(waiting.id == "5");
  CHECK(waiting.name == "arr");
  CHECK(waiting.time_left_s == -1);
  const Job running = parsed((std::string(recorded::kArrayTask) + recorded::kRunning).c_str());
  CHECK(running.id == "3");
  CHECK(parsed(recorded::kHetPart).id == "7");
  CHECK(parsed(recorded::kHetPart).name == "het");
}

TEST_CASE("a heterogeneous job consists of all its running components") {
  const auto job = parse_job(
      "JobId=6 HetJobId=6 HetJobOffset=0 JobName=het\n   JobState=RUNNING\n   NodeList=a0\n"
      "   NumNodes=1 NumTasks=1\n\n"
      "JobId=7 HetJobId=6 HetJobOffset=1 JobName=het\n   JobState=RUNNING\n   NodeList=b[0-1]\n"
      "   NumNodes=2 NumTasks=3\n\n"
      "JobId=8 HetJobId=6 HetJobOffset=2 JobName=het\n   JobState=COMPLETED\n   NodeList=c0\n");
  REQUIRE(job);
  CHECK(job->id == "6");
  CHECK(job->tasks == 4);
  CHECK(job->node_list == "a0,b[0-1]");
  REQUIRE(job->parts.size() == 2);
  CHECK(job->parts[1].group == 1);
  CHECK(job->parts[1].node_list == "b[0-1]");
}

TEST_CASE("text that is no job is an error") {
  for (const char* text : {"", "\n\n", "No jobs in the system\n", "JobId=\n", "JobId=x JobName=y\n",
                           "JobId=3 JobName=y\n", "   JobState=RUNNING\n", "JobId"}) {
    INFO(text);
    const auto job = parse_job(text);
    REQUIRE_FALSE(job);
    CHECK(job.error().code == Errc::kBadData);
  }
}

TEST_CASE("a job's text cut at any byte is survived") {
  const std::string text = recorded::kRunning;
  for (std::size_t size = 0; size <= text.size(); ++size) {
    const auto job = parse_job(text.substr(0, size));
    CHECK((!job || job->id == "3"));
  }
}

TEST_CASE("steps are read, with the batch script's") {
  const auto steps = parse_steps(recorded::kSteps);
  REQUIRE(steps.size() == 2);
  CHECK(steps[0] == Step{"batch", "batch", "RUNNING", 1, "n0"});
  CHECK(steps[1] == Step{"0", "sleep", "RUNNING", 8, "n[0-3]"});
  CHECK(parse_steps("Job step 1. not found\n").empty());
}

TEST_CASE("durations are seconds, and -1 if they are invalid") {
  CHECK(parse_duration("00:00:04") == 4);
  CHECK(parse_duration("01:02:03") == 3723);
  CHECK(parse_duration("02:03") == 123);
  CHECK(parse_duration("2-01:00:00") == 176400);
  for (const char* text : {"", "UNLIMITED", "Partition_Limit", "INVALID", "5", "1:2:3:4", "x:1",
                           "-1:00", "1--2:3", "99999999999:00"}) {
    INFO(text);
    CHECK(parse_duration(text) == -1);
  }
}

TEST_CASE("job ids are checked before SLURM sees them") {
  CHECK(parse_job_id("4711")->job == "4711");
  CHECK(parse_job_id("4711_3")->job == "4711_3");
  CHECK(parse_job_id("4711+1")->job == "4711+1");
  const auto with_step = parse_job_id("4711.0");
  REQUIRE(with_step);
  CHECK(with_step->job == "4711");
  CHECK(with_step->step == "0");
  // An empty one would make scontrol list every job of the cluster.
  for (const char* text : {"", "abc", "-1", "4711 ", "47;ls", "4711_", "_3", "4711.", "4711.batch",
                           "4711_[1-3]", "12345678901", "0", "00", "0.0", "0_1", "0+1"}) {
    INFO(text);
    const auto id = parse_job_id(text);
    REQUIRE_FALSE(id);
    CHECK(id.error().code == Errc::kUsage);
    CHECK_FALSE(id.error().hint.empty());
  }
}

TEST_CASE("a job that cannot be read is an error with its reason and a hint") {
  struct Case {
    const char* text;
    Errc code;
    const char* what;
  };
  const Case cases[] = {
      {recorded::kPending, Errc::kNotFound, "job 4 has not started yet: pending (Resources)"},
      {recorded::kCancelled, Errc::kGone, "job 2 was cancelled at 2026-11-21T09:53:37"},
      {recorded::kFailed, Errc::kGone, "job 1 failed at 2026-11-21T09:53:02 (JobLaunchFailure)"},
      {recorded::kCompleting, Errc::kGone,
       "job 4 is just ending (completing): SLURM starts nothing in it now"},
  };
  for (const Case& each : cases) {
    const auto status = can_collect(parsed(each.text), 1000);
    REQUIRE_FALSE(status);
    CHECK(status.error().code == each.code);
    CHECK(status.error().what == each.what);
    CHECK_FALSE(status.error().hint.empty());
  }
}

TEST_CASE("another user's job is refused by name, one's own is not") {
  Job job = parsed(recorded::kRunning);
  job.hosts = {"n0"};
  CHECK(can_collect(job, 1000));
  const auto status = can_collect(job, 0);
  REQUIRE_FALSE(status);
  CHECK(status.error().code == Errc::kPermission);
  CHECK(status.error().what.find("belongs to labuser") != std::string::npos);
}

TEST_CASE("every state that SLURM has ends in a sentence") {
  Job job = parsed(recorded::kRunning);
  for (const char* state :
       {"BOOT_FAIL", "COMPLETED", "CONFIGURING", "DEADLINE", "NODE_FAIL", "OUT_OF_MEMORY",
        "PREEMPTED", "REQUEUED", "RESIZING", "REVOKED", "SUSPENDED", "TIMEOUT", "NEW_IN_30"}) {
    job.state = state;
    const auto status = can_collect(job, 1000);
    REQUIRE_FALSE(status);
    CHECK(status.error().what.rfind("job 3 ", 0) == 0);
  }
}

}  // namespace
}  // namespace oddrank::slurm
