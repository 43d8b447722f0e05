#include "slurm/client.h"

#include "tests/support/catch.h"
#include "tests/unit/slurm/recorded.h"

namespace oddrank::slurm {
namespace {

TEST_CASE("clients get none of a job's settings, but know their cluster") {
  const std::vector<std::string> inside = {
      "PATH=/bin",      "SLURM_CONF=/etc/slurm.conf", "SLURM_NTASKS=8",
      "SLURM_JOB_ID=3", "SLURM_CPU_BIND=mask:1",      "SLURM_TIME_FORMAT=relative",
      "SRUN_DEBUG=3",   "SLURMD_NODENAME=n0",         "SLURM_CLUSTERS=a",
      "SLURMISH=1",     "SLURM_GRES=gpu:2",           "SLURM_CONF_SERVER=ctl"};
  CHECK(client_environment(inside) ==
        std::vector<std::string>{"PATH=/bin", "SLURM_CONF=/etc/slurm.conf", "SLURM_CLUSTERS=a",
                                 "SLURMISH=1", "SLURM_CONF_SERVER=ctl"});
}

TEST_CASE("complaints of clients become errors with a hint") {
  CHECK(client_error("scontrol", recorded::kUnknownJob).code == Errc::kNotFound);
  CHECK(client_error("scontrol", recorded::kNoConfiguration).code == Errc::kNotFound);
  const Error munge = client_error("scontrol", recorded::kNoMunge);
  CHECK(munge.code == Errc::kPermission);
  CHECK(munge.what.find("Munge encode failed") != std::string::npos);
  const Error away = client_error(
      "scontrol", "slurm_load_jobs error: Unable to contact slurm controller (connect failure)\n");
  CHECK(away.code == Errc::kTimeout);
  for (const Error& error : {client_error("scontrol", recorded::kUnknownJob),
                             client_error("scontrol", recorded::kNoConfiguration), munge, away}) {
    CHECK_FALSE(error.hint.empty());
  }
}

TEST_CASE("a cluster that does not exist is a wrong setting") {
  const Error error = client_error("scontrol",
                                   "scontrol: error: Problem talking to database\nscontrol: error: "
                                   "'other' can't be reached now, "
                                   "or it is an invalid entry for SLURM_CLUSTERS.  Use 'sacctmgr "
                                   "list clusters' to see available "
                                   "clusters.\n");
  CHECK(error.code == Errc::kUsage);
  CHECK(error.what.find("SLURM_CLUSTERS") != std::string::npos);
}

TEST_CASE("an unknown complaint is passed on in the client's own words") {
  const Error error = client_error("scontrol", "scontrol: error: the moon is full\n");
  CHECK(error.code == Errc::kIo);
  CHECK(error.what == "scontrol: the moon is full");
  CHECK(client_error("scontrol", "").what == "scontrol failed");
  CHECK(first_complaint(std::string(5000, 'x')).size() == 200);
}

TEST_CASE("the most telling complaint is taken") {
  CHECK(first_complaint(recorded::kNodeGone) ==
        "Task launch for StepId=3.6 failed on node n2: Communication connection failure");
  CHECK(first_complaint("srun: cluster configuration lacks support for cpu binding\n").empty());
  CHECK(without_prefix("slurmstepd-n0: error: execve(): /x: No such file") ==
        "execve(): /x: No such file");
}

}  // namespace
}  // namespace oddrank::slurm
