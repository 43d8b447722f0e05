#include "ranks/slurm/slurm_step.h"

#include <cstring>

#include "tests/support/catch.h"
#include "tests/unit/ranks/node_table.h"

namespace oddrank::ranks {
namespace {

using test::Node;

std::string no_cgroups(pid_t /*pid*/) {
  return "0::/user.slice\n";
}
bool all_of_root(pid_t /*pid*/) {
  return true;
}

// Returns "7.0" of the process, by its variables; "" if it has none.
std::string told(const std::vector<ProcessFacts>& all, pid_t pid) {
  for (const ProcessFacts& facts : all) {
    if (facts.stat.pid == pid && facts.environment.has("SLURM_JOB_ID")) {
      return std::string(facts.environment.get("SLURM_JOB_ID")) + "." +
             std::string(facts.environment.get("SLURM_STEP_ID"));
    }
  }
  return {};
}

// A step with a rank that kept its variables, and one that lost them; a login beside them.
std::vector<ProcessFacts> node() {
  auto all = Node()
                 .add(10, 1, "slurmstepd:")
                 .add(11, 10, "python3 train.py", "SLURM_JOB_ID=7 SLURM_STEP_ID=0 SLURM_PROCID=0")
                 .add(12, 10, "apptainer run", "PATH=/bin")
                 .add(13, 12, "python3 train.py", "RANK=1 WORLD_SIZE=2")
                 .add(20, 1, "slurmstepd:")
                 .add(21, 20, "bash", "HOME=/root")
                 .add(22, 21, "python3 train.py", "RANK=2 WORLD_SIZE=3")
                 .add(30, 1, "bash", "RANK=3 WORLD_SIZE=4")
                 .facts();
  for (ProcessFacts& facts : all) {
    if (facts.stat.pid == 10 || facts.stat.pid == 20) {
      facts.stat.name = "slurmstepd";
      facts.arguments = {facts.stat.pid == 10 ? "slurmstepd: [7.0]" : "slurmstepd: [7.extern]"};
    }
  }
  return all;
}

}  // namespace

TEST_CASE("steps in cgroups of version 1, as SLURM 20.11 to 26.05 name them") {
  const SlurmStep step{"7", "0"};
  CHECK(step_of_cgroups("12:cpuset:/\n6:freezer:/slurm_n0/uid_1000/job_7/step_0\n0::/\n") == step);
  CHECK(step_of_cgroups("4:memory:/slurm/uid_0/job_7/step_0/task_3\n") == step);
  CHECK(step_of_cgroups("4:cpu,cpuacct:/slurm/uid_0/job_7/step_batch/task_0\n") ==
        SlurmStep{"7", "batch"});
  CHECK(step_of_cgroups("4:devices:/slurm/uid_0/job_7/step_extern\n") == SlurmStep{"7", "extern"});
}

TEST_CASE("steps in cgroups of version 2, as SLURM 22.05 to 26.05 name them") {
  const SlurmStep step{"7", "0"};
  CHECK(step_of_cgroups("0::/system.slice/slurmstepd.scope/job_7/step_0/user/task_0\n") == step);
  CHECK(step_of_cgroups("0::/system.slice/n0_slurmstepd.scope/job_7/step_0/user/task_0\n") == step);
  CHECK(step_of_cgroups("0::/system.slice/slurmstepd.scope/job_7/step_0/user/task_special\n") ==
        step);
  CHECK(step_of_cgroups("0::/system.slice/slurmstepd.scope/job_7/step_0+1/user/task_0\n") == step);
  // Made below it by a container's runtime.
  CHECK(step_of_cgroups("0::/system.slice/slurmstepd.scope/job_7/step_0/user/task_0/box\n") ==
        step);
  // A user names groups of his own as he likes.
  CHECK_FALSE(
      step_of_cgroups("0::/user.slice/user-1002.slice/user@1002.service/app.slice/"
                      "slurmstepd.scope/job_7/step_0/user/task_0\n"));
  CHECK(step_of_cgroups("0::/system.slice/slurmstepd.scope/job_7/step_interactive/user/task_0") ==
        SlurmStep{"7", "interactive"});
}

TEST_CASE("cgroups that are no step's, and hostile ones") {
  for (const std::string_view text :
       {"", "0::/", "0::/system.slice/slurmd.service\n",
        "0::/system.slice/slurmstepd.scope/system\n", "0::/system.slice/slurmstepd.scope/job_7\n",
        "0::/kubepods/job_7/step_0\n", "0::/slurm/job_x/step_0\n", "0::/slurm/job_7/step_\n",
        "0::/slurm/job_7/step_-1\n", "0::/slurm/job_99999999999/step_0\n",
        "0::/slurm/job_7/x/step_0\n", "slurm/job_7/step_0\n", "::::", "0:/slurm/job_7/step_0"}) {
    CAPTURE(text);
    CHECK_FALSE(step_of_cgroups(text));
  }
}

TEST_CASE("the title of a step's daemon") {
  CHECK(step_of_title("slurmstepd: [4711.0]") == SlurmStep{"4711", "0"});
  CHECK(step_of_title("slurmstepd: [4711.batch]") == SlurmStep{"4711", "batch"});
  CHECK(step_of_title("slurmstepd: [4711.0+1]") == SlurmStep{"4711", "0"});
  for (const std::string_view title :
       {"", "slurmstepd", "slurmstepd: [", "slurmstepd: []", "slurmstepd: [7]", "slurmstepd: [7.]",
        "slurmstepd: [x.0]", "slurmstepd: [7.x]", "python3 slurmstepd: [7.0]",
        "/usr/sbin/slurmstepd infinity"}) {
    CAPTURE(title);
    CHECK_FALSE(step_of_title(title));
  }
}

TEST_CASE("a process that lost its variables is of the step of the daemon above it") {
  auto all = node();
  add_slurm_steps(all, no_cgroups, all_of_root);
  CHECK(told(all, 11) == "7.0");
  CHECK(told(all, 12) == "7.0");
  CHECK(told(all, 13) == "7.0");
  CHECK(told(all, 30).empty());
}

TEST_CASE("a login is of the job only with a rank") {
  auto all = node();
  add_slurm_steps(all, no_cgroups, all_of_root);
  CHECK(told(all, 21).empty());
  CHECK(told(all, 22) == "7.");
}

TEST_CASE("a title that anybody can take is not believed") {
  auto all = node();
  add_slurm_steps(all, no_cgroups, [](pid_t pid) { return pid != 10; });
  CHECK(told(all, 11) == "7.0");
  CHECK(told(all, 13).empty());
}

TEST_CASE("the cgroup is believed before the daemon, and both before variables") {
  auto all = node();
  add_slurm_steps(
      all,
      [](pid_t /*pid*/) { return "0::/system.slice/slurmstepd.scope/job_8/step_2/user/task_0\n"; },
      all_of_root);
  CHECK(told(all, 11) == "8.2");
  CHECK(told(all, 13) == "8.2");
  CHECK(told(all, 30) == "8.2");
}

TEST_CASE("a process that claims another job than that of its daemon is of its daemon's") {
  auto all = Node()
                 .add(10, 1, "slurmstepd:")
                 .add(11, 10, "python3 train.py", "SLURM_JOB_ID=9 SLURM_STEP_ID=3 SLURM_PROCID=0")
                 .add(12, 10, "python3 train.py", "SLURM_JOB_ID=6 SLURM_STEP_ID=0 SLURM_HET_SIZE=2")
                 .add(40, 1, "python3 train.py", "SLURM_JOB_ID=9 SLURM_STEP_ID=0")
                 .facts();
  all.front().stat.name = "slurmstepd";
  all.front().arguments = {"slurmstepd: [7.0]"};
  add_slurm_steps(all, no_cgroups, all_of_root);
  CHECK(told(all, 11) == "7.0");
  CHECK(told(all, 12) == "6.0");  // a part of a heterogeneous job
  CHECK(told(all, 40) == "9.0");  // nothing says otherwise
}

TEST_CASE("without SLURM's variables anywhere, nobody is asked") {
  auto all = Node().add(30, 1, "bash", "RANK=3 WORLD_SIZE=4").facts();
  add_slurm_steps(
      all,
      [](pid_t /*pid*/) -> std::string {
        FAIL("asked");
        return {};
      },
      all_of_root);
  CHECK(told(all, 30).empty());
}

namespace {

std::string task_bytes(std::int32_t id, std::int32_t number, bool exited, std::int32_t status) {
  std::string bytes(kStepTaskSize, '\0');
  const std::int32_t pid = 1000 + id;
  std::memcpy(bytes.data(), &id, 4);
  std::memcpy(bytes.data() + 4, &number, 4);
  std::memcpy(bytes.data() + 8, &pid, 4);
  bytes[12] = exited ? '\1' : '\0';
  std::memcpy(bytes.data() + 13, &status, 4);
  return bytes;
}

TEST_CASE("the tasks of a step that have ended, with their status") {
  const auto ended = parse_step_tasks(task_bytes(0, 4, false, 0) + task_bytes(1, 5, true, 0) +
                                      task_bytes(2, 6, true, 9) + task_bytes(3, 7, true, 3 << 8));
  REQUIRE(ended);
  CHECK(*ended == std::vector<EndedTask>{{5, 0}, {6, 9}, {7, 3 << 8}});
  CHECK(parse_step_tasks(task_bytes(0, 0, false, 0))->empty());
}

TEST_CASE("what is no list of tasks is refused") {
  const std::string one = task_bytes(0, 4, true, 0);
  for (const std::string& bytes :
       {std::string(), one.substr(1), one + one, task_bytes(1, 4, true, 0),
        task_bytes(0, -1, true, 0), task_bytes(0, 4, true, -1), task_bytes(0, 4, true, 0x10000),
        one + task_bytes(1, 4, false, 0)}) {
    CHECK(parse_step_tasks(bytes).error().code == Errc::kBadData);
  }
  std::string neither = one;
  neither[12] = 2;
  CHECK(parse_step_tasks(neither).error().code == Errc::kBadData);
}

TEST_CASE("the socket of a step's daemon") {
  const std::string head = "Num       RefCount Protocol Flags    Type St Inode Path\n";
  const auto row = [](const std::string& path, const char* flags = "00010000") {
    return std::string("0000000000000000: 00000002 00000000 ") + flags + " 0001 01 77 " + path +
           "\n";
  };
  const std::string one = row("/var/spool/slurmd/n1_4711.0");
  CHECK(step_socket(head + one, "4711.0") == "/var/spool/slurmd/n1_4711.0");
  // Other steps, and those that only end in the same digits.
  CHECK(step_socket(head + one, "711.0").empty());
  CHECK(step_socket(head + one, "4711.00").empty());
  CHECK(step_socket(head + row("/spool/n1_4711.10"), "4711.0").empty());
  // A connection that the daemon has accepted has its path, too.
  CHECK(step_socket(head + row("/var/spool/slurmd/n1_4711.0", "00000000"), "4711.0").empty());
  CHECK(step_socket(head + row("@n1_4711.0"), "4711.0").empty());
  // Two nodes on one machine: which is meant is not known.
  CHECK(step_socket(head + one + row("/var/spool/slurmd/n2_4711.0"), "4711.0").empty());
}

}  // namespace
}  // namespace oddrank::ranks
