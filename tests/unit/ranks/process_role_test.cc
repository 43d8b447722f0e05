#include "ranks/process_role.h"

#include <string>
#include <vector>

#include "base/split.h"
#include "tests/support/catch.h"

using oddrank::ranks::is_python;
using oddrank::ranks::ProcessRole;
using oddrank::ranks::role_of;

namespace {

std::vector<std::string> words(const std::string& line) {
  std::vector<std::string> arguments;
  for (const auto word : oddrank::split_blanks(line)) {
    arguments.emplace_back(word);
  }
  return arguments;
}

ProcessRole role(const std::string& line, const std::string& name = "x") {
  return role_of(words(line), name);
}

}  // namespace

TEST_CASE("unknown programs are taken for ranks' own") {
  for (const char* line :
       {"python train.py", "/venv/bin/python3.11 -u -X faulthandler train.py --launch torchrun",
        "python -m my.train", "python -mtrain", "python -c import_torch", "./a.out", "python",
        "python -W ignore -O train.py", "/apps/train", "python3 run.py", "python accelerate test",
        "python3 -m torch.utils.collect_env", "sleep 1000"}) {
    INFO(line);
    CHECK(role(line) == ProcessRole::kProgram);
  }
}

TEST_CASE("launchers of ranks are recognised however they are started") {
  for (const char* line :
       {"torchrun --nproc-per-node 8 train.py", "/venv/bin/python /venv/bin/torchrun train.py",
        "python -m torch.distributed.run train.py", "python3 -um torch.distributed.launch t.py",
        "python -mtorch.distributed.run t.py", "python -X dev -m torch.distributed.run t.py",
        "python -W ignore /v/torch/distributed/run.py t.py", "accelerate launch t.py",
        "python /venv/bin/accelerate launch t.py", "python -m accelerate.commands.launch t.py",
        "/venv/bin/accelerate-launch t.py", "python /venv/bin/deepspeed t.py",
        "python -u -m deepspeed.launcher.launch --world_info=x t.py"}) {
    INFO(line);
    CHECK(role(line) == ProcessRole::kRankLauncher);
  }
}

TEST_CASE("shells, wrappers, agents and helpers are distinguished") {
  CHECK(role("bash -c python_train.py") == ProcessRole::kShell);
  CHECK(role("-bash") == ProcessRole::kShell);
  CHECK(role("/bin/sh /spool/slurm_script") == ProcessRole::kShell);
  CHECK(role("srun -n 8 python train.py") == ProcessRole::kLauncher);
  CHECK(role("slurmstepd: [4711.0]") == ProcessRole::kLauncher);
  CHECK(role("mpirun -np 4 python t.py") == ProcessRole::kLauncher);
  CHECK(role("timeout 10 python t.py") == ProcessRole::kLauncher);
  CHECK(role("/sbin/tini -- python t.py") == ProcessRole::kLauncher);
  CHECK(role("Apptainer runtime parent") == ProcessRole::kLauncher);
  CHECK(role("/usr/bin/oddrank agent") == ProcessRole::kAgent);
  CHECK(role("/opt/oddrank --version") == ProcessRole::kAgent);
  CHECK(role("/home/ada/oddrank train.yaml", "oddrank") == ProcessRole::kProgram);
  CHECK(role("python3 /home/ada/oddrank/train.py", "oddrank") == ProcessRole::kProgram);
  CHECK(role("py-spy dump --pid 7") == ProcessRole::kAgent);
  CHECK(role("gdb -p 7") == ProcessRole::kAgent);
  CHECK(role("tee log.txt") == ProcessRole::kUtility);
  CHECK(
      role_of(std::vector<std::string>{"python3", "-B", "-c",
                                       "from multiprocessing.resource_tracker import main;main(3)"},
              "python3") == ProcessRole::kUtility);
}

TEST_CASE("a process without arguments is recognised by its name") {
  CHECK(role("", "bash") == ProcessRole::kShell);
  CHECK(role("", "oddrank") == ProcessRole::kAgent);
  CHECK(role("", "python3") == ProcessRole::kProgram);
  CHECK(role("", "") == ProcessRole::kProgram);
}

TEST_CASE("odd arguments do no harm") {
  CHECK(role("python -m") == ProcessRole::kProgram);
  CHECK(role("python -") == ProcessRole::kProgram);
  CHECK(role("python -W") == ProcessRole::kProgram);
  CHECK(role_of(std::vector<std::string>{"", ""}, "") == ProcessRole::kProgram);
  CHECK(role_of(std::vector<std::string>{"/"}, "") == ProcessRole::kProgram);
}

TEST_CASE("interpreters are recognised by their names") {
  CHECK(is_python(words("/venv/bin/python3.13t x")));
  CHECK(is_python(words("python x")));
  CHECK(is_python(words("pypy3 x")));
  CHECK_FALSE(is_python(words("python_server x")));
  CHECK_FALSE(is_python(words("ipython x")));
  CHECK_FALSE(is_python({}));
}
