// Tables of process trees, and which processes in them are ranks.
#include "ranks/rank_tree.h"

#include <string>
#include <vector>

#include "tests/support/catch.h"
#include "tests/unit/ranks/node_table.h"

using namespace oddrank::test;  // NOLINT(google-build-using-namespace)

TEST_CASE("torchrun: its children are the ranks, loaders belong to them") {
  Node node;
  node.add(1, 0, "/sbin/init")
      .add(50, 1, "-bash")
      .add(90, 50, "python /venv/bin/torchrun --nproc-per-node 2 train.py")
      .add(95, 90, "python -c resource_tracker")
      .add(100, 90, "python -u train.py", torch(0, 0, 2))
      .add(110, 90, "python -u train.py", torch(1, 1, 2))
      .add(101, 100, "python -u train.py", torch(0, 0, 2))
      .add(102, 101, "python -u train.py", torch(0, 0, 2))
      .add(111, 110, "sh -c nvidia-smi", torch(1, 1, 2));
  CHECK(node.ranks() == "0:100[101,102] 1:110[111]");
  CHECK(node.jobs() == "n0:29500 | n0:29500");
  CHECK(node.decide().expected == std::vector<std::int32_t>{0, 1});
  CHECK(node.decide().notes.empty());
}

TEST_CASE("srun, bash, python: only python is the rank") {
  Node node;
  node.add(80, 1, "slurmstepd: [7.0]").silent(FactsRead::kRefused);
  node.add(90, 80, "/bin/bash -c python_train.py", slurm(2, 4, "2,3"))
      .add(91, 90, "python train.py", slurm(2, 4, "2,3"))
      .add(92, 91, "python train.py", slurm(2, 4, "2,3"))
      .add(95, 80, "bash run.sh", slurm(3, 4, "2,3"))
      .add(96, 95, "timeout 1h python train.py", slurm(3, 4, "2,3"))
      .add(97, 96, "python train.py", slurm(3, 4, "2,3"))
      .add(98, 95, "tee log", slurm(3, 4, "2,3"));
  CHECK(node.ranks() == "2:91[92] 3:97");
  CHECK(node.jobs() == "slurm 7.0 | slurm 7.0");
  CHECK(node.decide().expected == std::vector<std::int32_t>{2, 3});
}

TEST_CASE("a rank that is gone is still expected") {
  Node node;
  node.add(91, 80, "python train.py", slurm(2, 4, "2,3"));
  CHECK(node.ranks() == "2:91");
  CHECK(node.decide().expected == std::vector<std::int32_t>{2, 3});
}

TEST_CASE("srun, torchrun: torchrun's own number is no rank") {
  Node node;
  const std::string task = slurm(1, 2, "1");
  node.add(80, 1, "slurmstepd: [7.0]").silent(FactsRead::kRefused);
  node.add(90, 80, "bash -c torchrun", task)
      .add(91, 90, "python -m torch.distributed.run --nnodes 2 train.py", task)
      .add(92, 91, "python -c resource_tracker", task)
      .add(100, 91, "python -u train.py", task + " " + torch(2, 0))
      .add(110, 91, "python -u train.py", task + " " + torch(3, 1))
      .add(101, 100, "python -u train.py", task + " " + torch(2, 0));
  CHECK(node.ranks() == "2:100[101] 3:110");
  CHECK(node.jobs() == "slurm 7.0 | slurm 7.0");
  CHECK(node.decide().expected == std::vector<std::int32_t>{2, 3});
}

TEST_CASE("an unknown launcher of the user is recognised by what it starts") {
  Node node;
  const std::string task = slurm(0, 2, "0");
  node.add(90, 80, "python my_launcher.py", task)
      .add(91, 90, "python helper.py", task)
      .add(100, 90, "python train.py", task + " RANK=0 WORLD_SIZE=4")
      .add(110, 90, "python train.py", task + " RANK=1 WORLD_SIZE=4");
  CHECK(node.ranks() == "0:100 1:110");
  CHECK(node.decide().expected.empty());
}

TEST_CASE("a program that sets RANK itself is the rank by SLURM_PROCID, its spawned workers too") {
  Node node;
  node.add(100, 80, "python train.py", slurm(3))
      .add(101, 100, "python train.py", slurm(3))
      .add(102, 100, "python -c spawn_main", slurm(3) + " RANK=3 WORLD_SIZE=4");
  CHECK(node.ranks() == "3:100[101,102]");
}

TEST_CASE("mpirun alone, and below srun") {
  Node alone;
  const auto mpi = [](int rank) {
    return "OMPI_COMM_WORLD_RANK=" + std::to_string(rank) +
           " OMPI_COMM_WORLD_SIZE=2 PMIX_NAMESPACE=ns";
  };
  alone.add(90, 50, "mpirun -np 2 python train.py")
      .add(100, 90, "python train.py", mpi(0))
      .add(110, 90, "python train.py", mpi(1));
  CHECK(alone.ranks() == "0:100 1:110");
  CHECK(alone.jobs() == "mpi ns | mpi ns");

  Node below;
  below.add(90, 80, "/usr/bin/orted -mca x", slurm(1, 2))
      .add(100, 90, "python train.py", slurm(1, 2) + " " + mpi(2))
      .add(110, 90, "python train.py", slurm(1, 2) + " " + mpi(3));
  CHECK(below.ranks() == "2:100 3:110");
}

TEST_CASE("accelerate and deepspeed") {
  Node node;
  node.add(90, 50, "python /venv/bin/accelerate launch train.py")
      .add(100, 90, "python train.py", "RANK=0 WORLD_SIZE=1 MASTER_ADDR=a MASTER_PORT=1")
      .add(190, 50, "python /venv/bin/deepspeed train.py")
      .add(191, 190, "python -u -m deepspeed.launcher.launch train.py")
      .add(200, 191, "python -u train.py", "RANK=0 WORLD_SIZE=2 MASTER_ADDR=a MASTER_PORT=2")
      .add(210, 191, "python -u train.py", "RANK=1 WORLD_SIZE=2 MASTER_ADDR=a MASTER_PORT=2");
  CHECK(node.ranks() == "0:100 0:200 1:210");
  CHECK(node.jobs() == "a:1 | a:2 | a:2");
  CHECK(node.decide().expected.empty());  // two jobs
}

TEST_CASE("a container's init and a nested pid namespace") {
  Node node;
  node.add(90, 80, "/sbin/tini -- bash run.sh", slurm(1))
      .add(91, 90, "bash run.sh", slurm(1))
      .add(92, 91, "python train.py", slurm(1));
  CHECK(node.ranks() == "1:92");
}

TEST_CASE("orphaned workers belong to their rank, leftovers of an earlier run to none") {
  Node node;
  node.add(60, 1, "python train.py", torch(0, 0, 2))
      .group(59)
      .add(90, 50, "torchrun train.py")
      .add(100, 90, "python train.py", torch(0, 0, 2))
      .add(110, 90, "python train.py", torch(1, 1, 2))
      .add(150, 1, "python train.py", torch(0, 0, 2))
      .group(90);
  CHECK(node.ranks() == "0:100[150] 1:110");
  REQUIRE(node.decide().notes.size() == 1);
  CHECK(node.decide().notes[0].find("pid 60") != std::string::npos);
}

TEST_CASE(
    "a shell that a program of the rank has left behind is the rank's, one that started it is "
    "not") {
  Node node;
  node.add(50, 1, "bash run.sh", torch(0, 0, 1))
      .add(100, 50, "python train.py", torch(0, 0, 1))
      .add(101, 100, "tool", torch(0, 0, 1))
      .zombie()
      .add(102, 1, "sh -c loop", torch(0, 0, 1))
      .add(103, 102, "sleep 5", torch(0, 0, 1))
      .add(104, 50, "sh -c beside", torch(0, 0, 1));
  CHECK(node.ranks() == "0:100[101,102,103]");
}

TEST_CASE("ranks started with nohup are no orphans of each other") {
  Node node;
  node.add(100, 1, "python train.py", "RANK=0 WORLD_SIZE=2 MASTER_ADDR=a MASTER_PORT=1")
      .add(110, 1, "python train.py", "RANK=1 WORLD_SIZE=2 MASTER_ADDR=a MASTER_PORT=1")
      .add(120, 1, "python train.py", "RANK=1 WORLD_SIZE=2 MASTER_ADDR=a MASTER_PORT=1")
      .group(110);
  CHECK(node.ranks() == "0:100 1:110[120]");
}

TEST_CASE("a program beside the rank is its helper") {
  Node node;
  node.add(90, 80, "bash run.sh", slurm(0))
      .add(91, 90, "nvidia-smi dmon", slurm(0))
      .add(92, 90, "python train.py", slurm(0))
      .add(93, 90, "sleep infinity", slurm(0))
      .add(94, 90, "tee log", slurm(0));
  CHECK(node.ranks() == "0:92[93]");
  CHECK(node.decide().notes.empty());
}

TEST_CASE("a job that was started from inside a rank belongs to the rank") {
  Node node;
  node.add(100, 80, "python train.py", slurm(0) + " " + torch(0, 0, 2))
      .add(110, 80, "python train.py", slurm(0) + " " + torch(1, 1, 2))
      .add(120, 110, "torchrun eval.py", slurm(0) + " " + torch(1, 1, 2))
      .add(121, 120, "python eval.py", slurm(0) + " " + torch(0, 0, 1, 1, 3333))
      .add(111, 110, "python train.py", slurm(0));
  CHECK(node.ranks() == "0:100 1:110[120,121,111]");
}

TEST_CASE("a job that a rank has started with mpirun keeps the rank of that rank's number") {
  const bool with_name = GENERATE(true, false);  // MPICH's has none
  const auto mpi = [with_name](int rank, const char* job) {
    return with_name ? "PMIX_RANK=" + std::to_string(rank) + " PMIX_NAMESPACE=" + job
                     : "PMI_RANK=" + std::to_string(rank) + " PMI_SIZE=2";
  };
  Node node;
  node.add(100, 50, "/usr/bin/hydra_pmi_proxy --proxy-id 0")
      .add(110, 100, "./solver", mpi(0, "a"))
      .add(120, 100, "./solver", mpi(1, "a"))
      .add(121, 120, "./solver", mpi(1, "a"))
      .add(130, 120, "/usr/bin/hydra_pmi_proxy --proxy-id 0")
      .add(140, 130, "./inner", mpi(0, "b"))
      .add(141, 130, "./inner", mpi(1, "b"));
  CHECK(node.ranks() == "0:110 1:120[121,130] 0:140 1:141");
  CHECK(node.jobs() == (with_name ? "mpi a | mpi a | mpi b | mpi b"
                                  : "launcher 100 | launcher 100 | launcher 130 | launcher 130"));
}

TEST_CASE("two jobs on one node are distinguished") {
  Node node;
  node.add(90, 50, "torchrun a.py")
      .add(100, 90, "python a.py", torch(0, 0, 2, 2, 1111))
      .add(101, 90, "python a.py", torch(1, 1, 2, 2, 1111))
      .add(190, 50, "torchrun b.py")
      .add(200, 190, "python b.py", torch(0, 0, 2, 2, 2222))
      .add(201, 190, "python b.py", torch(1, 1, 2, 2, 2222));
  CHECK(node.jobs() == "n0:1111 | n0:1111 | n0:2222 | n0:2222");

  Node steps;
  steps.add(100, 80, "python a.py", slurm(0, 2, "0"))
      .add(200, 81, "python b.py", slurm(0, 2, "0", 7, "1"))
      .add(300, 82, "python c.py", slurm(0, 2, "0", 8));
  CHECK(steps.jobs() == "slurm 7.0 | slurm 7.1 | slurm 8.0");

  Node scripts;
  scripts.add(50, 1, "bash a.sh")
      .add(100, 50, "python a.py", "RANK=0 WORLD_SIZE=1")
      .add(101, 100, "python a.py", "RANK=0 WORLD_SIZE=1")
      .add(60, 1, "bash b.sh")
      .add(200, 60, "python b.py", "RANK=0 WORLD_SIZE=1");
  CHECK(scripts.ranks() == "0:100[101] 0:200");
  CHECK(scripts.jobs() == "launcher 50 | launcher 60");
}

TEST_CASE("a sweep: two torchruns in one Slurm step") {
  Node node;
  node.add(80, 1, "bash sweep.sh", slurm(0, 1))
      .add(90, 80, "torchrun a.py", slurm(0, 1))
      .add(100, 90, "python a.py", slurm(0, 1) + " " + torch(0, 0, 2, 2, 1111))
      .add(101, 90, "python a.py", slurm(0, 1) + " " + torch(1, 1, 2, 2, 1111))
      .add(102, 100, "python a.py", slurm(0, 1) + " " + torch(0, 0, 2, 2, 1111))
      .add(190, 80, "torchrun b.py", slurm(0, 1))
      .add(200, 190, "python b.py", slurm(0, 1) + " " + torch(0, 0, 2, 2, 2222))
      .add(201, 190, "python b.py", slurm(0, 1) + " " + torch(1, 1, 2, 2, 2222));
  CHECK(node.ranks() == "0:100[102] 1:101 0:200 1:201");
  CHECK(node.jobs() ==
        "slurm 7.0 n0:1111 | slurm 7.0 n0:1111 | slurm 7.0 n0:2222 | slurm 7.0 n0:2222");
}

TEST_CASE("only processes of the wanted job and step") {
  Node node;
  node.add(100, 80, "python a.py", slurm(0))
      .add(101, 100, "python a.py", slurm(0))
      .add(200, 81, "python b.py", slurm(0, 4, "", 8))
      .add(300, 82, "python c.py", slurm(0, 4, "", 7, "2"))
      .add(400, 50, "python d.py", torch(0, 0));
  DiscoverOptions options;
  options.slurm_job = "7";
  CHECK(node.ranks(options) == "0:100[101] 0:300");
  options.slurm_step = "2";
  CHECK(node.ranks(options) == "0:300");
  options.slurm_job = "9";
  CHECK(node.ranks(options).empty());
}

TEST_CASE("an agent in the same job is no rank, nor is a debugger") {
  Node node;
  node.add(91, 80, "python train.py", slurm(2, 4, "2,3"))
      .add(92, 91, "py-spy dump --pid 91", slurm(2, 4, "2,3"))
      .add(500, 81, "timeout 20 oddrank agent", slurm(0, 2, "0", 7, "3"))
      .add(501, 500, "/shared/oddrank agent", slurm(0, 2, "0", 7, "3"))
      .add(502, 501, "/shared/oddrank agent", slurm(0, 2, "0", 7, "3"))
      .add(600, 82, "gdb -p 91", slurm(0, 2, "0", 7, "4"))
      .add(700, 83, "python helper.py", slurm(1, 2, "", 7, "5"));
  DiscoverOptions options;
  options.slurm_job = "7";
  options.exclude = {700};
  CHECK(node.ranks(options) == "2:91");
  CHECK(node.decide(options).expected == std::vector<std::int32_t>{2, 3});
}

TEST_CASE("a rank under oddrank watch is a rank") {
  Node node;
  node.add(90, 80, "oddrank watch -- python train.py", slurm(2))
      .add(91, 90, "python train.py", slurm(2));
  CHECK(node.ranks() == "2:91");
}

TEST_CASE("a step of one task counts only if the job was requested and has nothing else") {
  Node node;
  node.add(90, 80, "bash", slurm(0, 1, "", 7, "1")).add(91, 90, "vim x", slurm(0, 1, "", 7, "1"));
  CHECK(node.ranks().empty());
  DiscoverOptions options;
  options.slurm_job = "7";
  CHECK(node.ranks(options) == "0:91");
  node.add(100, 81, "python train.py", slurm(0, 2));
  CHECK(node.ranks(options) == "0:100");
}

TEST_CASE("what a batch script runs without srun is the job's rank if it may train") {
  const std::string batch =
      " SLURM_JOB_ID=7 SLURM_STEP_ID=4294967291 SLURM_PROCID=0 SLURM_NTASKS=4";
  Node node;
  node.add(90, 80, "/bin/bash slurm_script", batch)
      .add(91, 90, "python train.py", batch)
      .add(92, 91, "python train.py", batch)
      .add(93, 90, "tee log", batch);
  DiscoverOptions options;
  CHECK(node.ranks(options).empty());
  options.slurm_job = "7";
  CHECK(node.ranks(options) == "0:91[92]");
  CHECK(node.decide(options).rows[0].world_size == 1);
  node.add(100, 81, "python train.py", slurm(0, 2)).add(101, 82, "python train.py", slurm(1, 2));
  CHECK(node.ranks(options) == "0:100 1:101");
}

TEST_CASE("of several jobs on a node those that train are kept, however small they are") {
  Node node;
  node.add(100, 80, "python train.py", slurm(0, 2)).does(Activity::kIdle, true);
  for (int task = 0; task < 4; ++task) {
    node.add(200 + task, 81, "sleep 1000", slurm(task, 4, "", 7, "1")).does(Activity::kIdle);
  }
  node.add(300, 82, "python monitor.py", slurm(0, 4, "", 7, "2")).does(Activity::kIdle);
  for (const std::string job : {"", "7"}) {
    DiscoverOptions options;
    options.slurm_job = job;
    CHECK(node.ranks(options) == "0:100");
    CHECK(node.decide(options).notes ==
          std::vector<std::string>{"left out (no training): slurm 7.1 (4 processes: sleep)",
                                   "left out (no training): slurm 7.2 (1 process: python)"});
  }
}

TEST_CASE("a job of one task that trains is kept beside larger ones that do not") {
  Node node;
  node.add(100, 80, "python train.py", slurm(0, 1)).does(Activity::kWorks, true);
  node.add(200, 81, "sleep 1000", slurm(0, 4, "", 7, "1")).does(Activity::kIdle);
  DiscoverOptions options;
  options.slurm_job = "7";
  CHECK(node.ranks(options) == "0:100");
}

TEST_CASE("the activity of a job's processes is read only if there is another job") {
  Node node;
  node.add(100, 80, "python train.py", slurm(0, 2)).add(101, 80, "python train.py", slurm(1, 2));
  CHECK(node.wanted().empty());
  node.add(200, 81, "sleep 1000", slurm(0, 4, "", 7, "1"));
  CHECK(node.wanted() == "100 101 200");
  Node told;
  told.add(100, 80, "python train.py", torch(0, 0))
      .add(200, 81, "sleep 1000", slurm(0, 4, "", 7, "1"));
  CHECK(told.wanted() == "200");
}

TEST_CASE("a watch takes no job of which nothing trains") {
  Node node;
  node.add(200, 81, "sleep 1000", slurm(0, 4)).does(Activity::kIdle);
  DiscoverOptions options;
  options.slurm_job = "7";
  CHECK(node.ranks(options) == "0:200");
  options.training_only = true;
  CHECK(node.ranks(options).empty());
  node.add(300, 82, "python train.py", slurm(0, 4));
  CHECK(node.ranks(options) == "0:300");
}

TEST_CASE("a zombie of torchrun is the rank that is missing") {
  Node node;
  node.add(90, 50, "torchrun train.py")
      .add(100, 90, "python train.py", torch(2, 0, 8, 4))
      .add(101, 90, "python train.py")
      .zombie()
      .add(102, 90, "python train.py", torch(4, 2, 8, 4))
      .add(103, 90, "python train.py", torch(5, 3, 8, 4))
      .add(104, 103, "python train.py")
      .zombie()
      .add(105, 90, "nvidia-smi")
      .zombie()
      .add(70, 1, "python train.py")
      .zombie();
  CHECK(node.ranks() == "2:100 3:101 4:102 5:103[104]");
  CHECK(node.decide().rows[1].why.find("siblings") != std::string::npos);
  CHECK(node.decide().rows[1].job == "n0:29500");
  CHECK(node.decide().expected == std::vector<std::int32_t>{2, 3, 4, 5});
}

TEST_CASE("a zombie beside ranks of which none lacks is a helper's") {
  Node node;
  const auto of_two = [](int rank) {
    return "RANK=" + std::to_string(rank) + " WORLD_SIZE=2 MASTER_ADDR=a MASTER_PORT=1";
  };
  node.add(90, 50, "python launch.py").add(91, 90, "python -c helper").zombie();
  node.add(100, 90, "python train.py", of_two(0)).add(101, 90, "python train.py", of_two(1));
  CHECK(node.ranks() == "0:100 1:101");
  CHECK(node.decide().notes ==
        std::vector<std::string>{
            "pid 91 (python) has ended or cannot be read, and is not a rank: the "
            "launcher has a process for "
            "each of its ranks"});
}

TEST_CASE("of several zombies, those that began with the ranks are ranks") {
  Node node;
  node.add(90, 50, "torchrun train.py");
  node.add(95, 90, "python train.py").zombie();  // of the run before
  node.add(96, 90, "python train.py").zombie();
  node.add(100, 90, "python train.py", torch(0, 0, 2)).started(60'000'000);
  node.add(101, 90, "python train.py").zombie().started(60'010'000);
  CHECK(node.ranks() == "0:100 1:101");
  CHECK(node.decide().notes.size() == 1);
}

TEST_CASE("a zombie with an unknown number is a process of the job") {
  Node node;
  node.add(90, 50, "bash run.sh")
      .add(100, 90, "python train.py", "RANK=0 WORLD_SIZE=4 MASTER_ADDR=a MASTER_PORT=1")
      .add(101, 90, "python train.py")
      .zombie();
  CHECK(node.ranks() == "-1:101 0:100");
  CHECK(node.jobs() == "a:1 | a:1");
}

TEST_CASE("a rank that cannot be read is found by its siblings") {
  Node node;
  node.add(90, 50, "torchrun train.py")
      .add(100, 90, "python train.py", torch(0, 0, 2))
      .add(101, 90, "python train.py")
      .silent(FactsRead::kBlocked);
  CHECK(node.ranks() == "0:100 1:101");
  REQUIRE(node.decide().notes.size() == 1);
  CHECK(node.decide().notes[0].find("pid 101") != std::string::npos);
}

TEST_CASE("a process that does not name its job may be a rank") {
  Node node;
  node.add(90, 50, "slurmstepd").add(100, 90, "python train.py").silent(FactsRead::kBlocked);
  CHECK(node.ranks().empty());
  CHECK(node.decide().obstacle.find("pid 100 (python) did not answer in time") == 0);
  Node all;
  all.add(90, 50, "slurmstepd").add(100, 90, "python train.py", "RANK=0 WORLD_SIZE=1");
  CHECK(all.decide().obstacle.empty());
}

TEST_CASE(
    "a process of the ranks' program that has not met them has the number of its command line") {
  const auto jax = [](int rank) {
    return ReportedWorld{oddrank::ranks::ReportedBy::kJax, rank, 3, -1, "127.0.0.1:29500", false};
  };
  Node node;
  node.add(1, 0, "bash")
      .add(100, 1, "python train.py --id=0 --of=3")
      .says(jax(0))
      .add(101, 1, "python train.py --id=1 --of=3")
      .says({})
      .add(102, 1, "python train.py --id=2 --of=3")
      .says(jax(2));
  CHECK(node.ranks() == "0:100 1:101 2:102");

  Node equal;  // nothing tells the number
  equal.add(90, 1, "bash")
      .add(100, 90, "python train.py")
      .says(jax(0))
      .add(101, 90, "python train.py")
      .says({})
      .add(102, 90, "python train.py")
      .says(jax(2));
  CHECK(equal.ranks() == "-1:101 0:100 2:102");

  Node others;  // another program, a worker, a launcher, and one too many
  others.add(90, 1, "bash")
      .add(100, 90, "python train.py 0")
      .says(jax(0))
      .add(101, 90, "python serve.py 1")
      .says({})
      .add(102, 90, "python train.py 1")
      .forked()
      .says({})
      .add(103, 90, "python train.py 2")
      .says({})
      .add(104, 103, "python train.py 2")
      .says(jax(2));
  CHECK(others.ranks() == "0:100 2:104");
  Node whole;
  whole.add(90, 1, "bash");
  for (int rank = 0; rank < 4; ++rank) {
    whole.add(100 + rank, 90, "python train.py " + std::to_string(rank))
        .says(rank < 3 ? jax(rank) : ReportedWorld());
  }
  CHECK(whole.ranks() == "0:100 1:101 2:102");
}

TEST_CASE("zombies without a job belong to no job") {
  Node node;
  node.add(1, 0, "/sbin/init").add(100, 1, "python train.py").zombie();
  CHECK(node.ranks().empty());
}

TEST_CASE("requested processes, ranks or not") {
  Node node;
  node.add(1, 0, "/sbin/init")
      .add(50, 1, "bash")
      .add(60, 50, "./server")
      .add(61, 60, "./server")
      .add(90, 50, "torchrun train.py")
      .add(100, 90, "python train.py", torch(0, 0, 2))
      .add(110, 90, "python train.py", torch(1, 1, 2))
      .add(111, 110, "python train.py", torch(1, 1, 2));
  CHECK(node.ranks(for_pids({60})) == "-1:60[61]");
  CHECK(node.ranks(for_pids({60, 61})) == "-1:60 -1:61");
  CHECK(node.ranks(for_pids({110})) == "1:110[111]");
  CHECK(node.ranks(for_pids({111})) == "1:111");
  CHECK(node.ranks(for_pids({90})) == "-1:90 0:100 1:110[111]");
  CHECK(node.ranks(for_pids({999})).empty());
  CHECK(node.decide(for_pids({110})).expected.empty());
  CHECK(node.decide(for_pids({110})).obstacle ==
        "1 more rank runs here, but only the given processes were read");
  CHECK(node.decide(for_pids({100, 110})).obstacle.empty());
  CHECK(node.decide(for_pids({60})).obstacle.empty());
}

TEST_CASE("a missing process is explained") {
  Node none;
  none.add(1, 0, "/sbin/init").add(2, 1, "python x").silent(FactsRead::kRefused);
  REQUIRE(none.decide().notes.size() == 1);
  CHECK(none.decide().notes[0].find("1 processes of other users") != std::string::npos);

  Node waiting;
  waiting.add(90, 50, "torchrun --nnodes 2 train.py", slurm(1, 2));
  CHECK(waiting.ranks().empty());
  REQUIRE(waiting.decide().notes.size() == 1);
  CHECK(waiting.decide().notes[0].find("started no ranks") != std::string::npos);
}

TEST_CASE("cycles and reused pids do not hang or mislead") {
  Node cycle;
  cycle.add(100, 101, "python a.py", torch(0, 0))
      .started(5)
      .add(101, 100, "python a.py", torch(1, 1))
      .started(5)
      .add(102, 102, "python a.py", torch(2, 0))
      .started(5);
  CHECK(cycle.decide().rows.size() == 3);

  Node again;  // 100 died; a younger process has its pid
  again.add(110, 100, "python a.py", torch(0, 0))
      .started(5)
      .add(100, 1, "python b.py", torch(1, 1))
      .started(50);
  CHECK(again.ranks() == "0:110 1:100");

  CHECK(Node().decide().rows.empty());
}

TEST_CASE("a process that only waits for its one child wraps the rank") {
  Node node;
  node.add(90, 50, "torchrun run.py")
      .add(100, 90, "python wrap.py", torch(0, 0, 2))
      .does(Activity::kWaitsForChild)
      .add(101, 100, "bash -c train", torch(0, 0, 2))
      .add(102, 101, "python train.py", torch(0, 0, 2))
      .does(Activity::kWaitsForChild)
      .add(103, 102, "python train.py", torch(0, 0, 2))
      .add(104, 103, "python train.py", torch(0, 0, 2))
      .add(110, 90, "uv run train.py", torch(1, 1, 2))
      .does(Activity::kIdle)
      .add(111, 110, "python train.py", torch(1, 1, 2))
      .does(Activity::kUnknown, true);
  CHECK(node.ranks() == "0:103[104] 1:111");
}

TEST_CASE("the zombie of a wrapper is recognised by its siblings") {
  Node node;
  node.add(90, 50, "torchrun run.py")
      .add(100, 90, "python wrap.py", torch(0, 0, 2))
      .does(Activity::kWaitsForChild)
      .add(101, 100, "python train.py", torch(0, 0, 2))
      .add(110, 90, "python wrap.py")
      .zombie();
  CHECK(node.ranks() == "0:101 1:110");
}

TEST_CASE("a process that a wrapper has started beside the rank is not the rank") {
  Node node;
  node.add(100, 50, "python wrap.py", torch(0, 0, 1, 1))
      .does(Activity::kWaitsForChild)
      .add(101, 100, "python -m monitor", torch(0, 0, 1, 1))
      .does(Activity::kIdle)
      .add(102, 100, "python train.py", torch(0, 0, 1, 1))
      .does(Activity::kUnknown, true);
  CHECK(node.ranks() == "0:102");
}

TEST_CASE("a rank that waits for its child is no wrapper") {
  const std::string one = torch(0, 0, 1, 1);
  const auto ranks = [&](Activity activity, bool communicates, const std::string& child) {
    Node node;
    node.add(100, 50, "python train.py", one)
        .does(activity, communicates)
        .add(101, 100, child, one)
        .does(Activity::kIdle);
    return node.ranks();
  };
  CHECK(ranks(Activity::kWaitsForChild, false, "python prepare.py") == "0:101");
  CHECK(ranks(Activity::kWaitsForChild, true, "python prepare.py") == "0:100[101]");
  CHECK(ranks(Activity::kIdle, false, "python prepare.py") == "0:100[101]");
  CHECK(ranks(Activity::kWorks, false, "python prepare.py") == "0:100[101]");
  CHECK(ranks(Activity::kUnknown, false, "python prepare.py") == "0:100[101]");
  CHECK(ranks(Activity::kWaitsForChild, false, "git lfs pull") == "0:100[101]");
  Node given;
  given.add(100, 50, "python wrap.py", one)
      .does(Activity::kWaitsForChild)
      .add(101, 100, "python train.py", one);
  CHECK(given.ranks(for_pids({100})) == "0:100[101]");
}

TEST_CASE("the activity of only a few processes is read") {
  const std::string one = torch(0, 0, 2);
  Node node;
  node.add(100, 50, "python wrap.py", one)
      .add(101, 100, "python train.py", one)
      .add(102, 101, "python train.py", one)
      .add(103, 101, "python train.py", one)
      .add(110, 50, "python train.py", torch(1, 1, 2));
  CHECK(node.wanted() == "100 101");
  Node next;
  next.add(100, 50, "python wrap.py", one)
      .does(Activity::kIdle)
      .add(101, 100, "python train.py", one)
      .does(Activity::kUnknown, true)
      .add(102, 101, "python train.py", one);
  CHECK(next.wanted().empty());
}

TEST_CASE("a process that a rank has left behind is not the rank") {
  Node node;
  node.add(90, 50, "bash run.sh")
      .add(100, 90, "python train.py", torch(0, 0, 2))
      .add(111, 1, "python train.py", torch(1, 1, 2))
      .forked()
      .group(110);
  const RankDecision decision = node.decide();
  CHECK(node.ranks() == "0:100");
  REQUIRE(decision.rows.size() == 2);
  CHECK(decision.rows[1].outlives_rank);
  CHECK(decision.rows[1].rank == 1);
  CHECK(decision.rows[1].owner == 110);
  CHECK(decision.expected == std::vector<std::int32_t>{0, 1});
}

TEST_CASE("ranks that all became daemons are ranks, and so is an orphan that runs a program") {
  Node daemons;
  daemons.add(100, 1, "python train.py", torch(0, 0, 2))
      .forked()
      .add(110, 1, "python train.py", torch(1, 1, 2))
      .forked();
  CHECK(daemons.ranks() == "0:100 1:110");
  Node program;
  program.add(100, 50, "python train.py", torch(0, 0, 2))
      .add(110, 1, "python train.py", torch(1, 1, 2));
  CHECK(program.ranks() == "0:100 1:110");
}

TEST_CASE("zombies are the ranks that are missing of the world if they are as many") {
  const auto variables = [](int rank) {
    return "RANK=" + std::to_string(rank) + " WORLD_SIZE=4 MASTER_ADDR=n0 MASTER_PORT=29500";
  };
  for (int left = 0; left < 4; ++left) {
    Node node;
    node.add(50, 1, "bash run.sh");
    for (int rank = 0; rank < 4; ++rank) {
      node.add(100 + rank, 50, "python train.py", rank == left ? variables(rank) : "");
      if (rank != left) {
        node.zombie();
      }
    }
    CHECK(node.ranks() == "0:100 1:101 2:102 3:103");
  }
  // They were not started in the order of their ranks, or others are elsewhere.
  Node other;
  other.add(50, 1, "bash run.sh").add(100, 50, "python train.py", variables(2));
  for (int i = 1; i < 4; ++i) {
    other.add(100 + i, 50, "python train.py").zombie();
  }
  CHECK(other.ranks() == "-1:101 -1:102 -1:103 2:100");
  Node few;
  few.add(50, 1, "bash run.sh").add(100, 50, "python train.py", variables(0));
  few.add(101, 50, "python train.py").zombie();
  CHECK(few.ranks() == "-1:101 0:100");
}
