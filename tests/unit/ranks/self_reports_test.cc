// Which processes are asked what they say of themselves, and what is made of the answers.
#include "ranks/self_reports.h"

#include <string>
#include <vector>

#include "tests/support/catch.h"
#include "tests/unit/ranks/node_table.h"

using oddrank::ranks::ReportedBy;
using oddrank::test::FactsRead;
using oddrank::test::Node;
using oddrank::test::ReportedWorld;
using oddrank::test::slurm;
using oddrank::test::torch;

namespace {

constexpr const char* kSpawned = "python -c from_multiprocessing.spawn_import_spawn_main";

ReportedWorld group(int rank, int size, const std::string& address = "127.0.0.1:29500") {
  return {ReportedBy::kGroup, rank, size, -1, address, false};
}

ReportedWorld started_as(int index) {
  return {ReportedBy::kStart, -1, -1, index, "", false};
}

}  // namespace

TEST_CASE("asked are processes with a library and no variables, from the outside in") {
  Node node;
  node.add(50, 1, "bash")
      .add(60, 50, "python serve.py")  // no library
      .add(100, 50, "python train.py")
      .loaded()
      .add(101, 100, kSpawned)
      .loaded()
      .add(110, 50, "python train.py", torch(0, 0))
      .add(120, 50, "gdb -p 100")
      .loaded();
  CHECK(node.to_ask() == "100");
}

TEST_CASE("the parent of spawned ranks says nothing; its children are asked, and are ranks") {
  Node node;
  node.add(100, 50, "python train.py").says({}).add(101, 100, kSpawned).loaded();
  CHECK(node.to_ask() == "101");

  Node told;
  told.add(100, 50, "python train.py")
      .says({})
      .add(101, 100, kSpawned)
      .says(group(0, 2))
      .add(102, 100, kSpawned)
      .says(group(1, 2))
      .add(103, 102, "python -c worker")
      .forked()
      .loaded();
  CHECK(told.to_ask().empty());  // workers of a rank are not asked
  CHECK(told.ranks() == "0:101 1:102[103]");
  CHECK(told.jobs() == "127.0.0.1:29500 | 127.0.0.1:29500");
  CHECK(told.decide().notes.empty());
}

TEST_CASE("all ranks of a group that has met on this machine are expected here") {
  Node node;
  node.add(100, 50, "python train.py")
      .says(group(0, 3))
      .add(101, 50, "python train.py")
      .says(group(2, 3));
  CHECK(node.decide().expected == std::vector<std::int32_t>{0, 1, 2});
  Node elsewhere;
  elsewhere.add(100, 50, "python train.py").says(group(0, 3, "n0:29500"));
  CHECK(elsewhere.decide().expected.empty());
}

TEST_CASE("a spawned process that is late has the number that follows from its index") {
  Node node;
  node.add(90, 50, "python train.py")
      .says({})
      .add(100, 90, kSpawned)
      .says({ReportedBy::kInit, 4, 8, 0, "n0:29500", false})
      .add(101, 90, kSpawned)
      .says(started_as(1))
      .add(102, 90, kSpawned)
      .says({});
  CHECK(node.ranks() == "4:100 5:101");

  Node alone;  // nothing says what the indices belong to
  alone.add(90, 50, "python train.py").says({}).add(101, 90, kSpawned).says(started_as(1));
  CHECK(alone.ranks().empty());
}

TEST_CASE("a task that starts several ranks: they are asked, and the task is none") {
  Node node;
  node.add(100, 80, "python start.py", slurm(1, 2))
      .add(101, 100, "python start.py", slurm(1, 2))
      .forked()
      .add(102, 100, "python start.py", slurm(1, 2))
      .forked();
  CHECK(node.to_ask() == "100");

  Node silent;
  silent.add(100, 80, "python start.py", slurm(1, 2))
      .says({})
      .add(101, 100, "python start.py", slurm(1, 2))
      .forked()
      .add(102, 100, "python start.py", slurm(1, 2))
      .forked();
  CHECK(silent.to_ask() == "101 102");

  Node told;
  told.add(100, 80, "python start.py", slurm(1, 2, "1"))
      .says({})
      .add(101, 100, "python start.py", slurm(1, 2, "1"))
      .says(group(2, 4))
      .add(102, 100, "python start.py", slurm(1, 2, "1"))
      .says(group(3, 4));
  CHECK(told.ranks() == "2:101 3:102");
  CHECK(told.jobs() == "slurm 7.0 | slurm 7.0");
  CHECK(told.decide().expected != std::vector<std::int32_t>{1});  // that is the task's number
}

TEST_CASE("a task that says its rank: its workers are not asked") {
  Node node;
  node.add(100, 80, "python train.py", slurm(1, 2))
      .says(group(1, 2))
      .add(101, 100, "python train.py", slurm(1, 2))
      .forked();
  CHECK(node.to_ask().empty());
  CHECK(node.ranks() == "1:100[101]");
}

TEST_CASE("a process that only inherited a group is no rank") {
  ReportedWorld inherited = group(1, 2);
  inherited.inherited = true;
  Node node;
  node.add(90, 50, "python train.py")
      .says({})
      .add(100, 90, "python train.py")
      .says(group(0, 2))
      .add(101, 90, "python train.py")
      .forked()
      .says(inherited);
  CHECK(node.ranks() == "0:100");

  Node orphan;  // its rank is gone
  orphan.add(1, 0, "/sbin/init")
      .add(100, 90, "python train.py")
      .says(group(0, 2))
      .add(101, 1, "python train.py")
      .forked()
      .group(99)
      .says(inherited);
  CHECK(orphan.ranks() == "0:100");
  REQUIRE(orphan.decide().rows.size() == 2);
  CHECK(orphan.decide().rows[1].outlives_rank);
  CHECK(orphan.decide().rows[1].rank == 1);

  const std::string started = "MASTER_ADDR=127.0.0.1 MASTER_PORT=29500 WORLD_SIZE=2 RANK=";
  Node shell;  // the same, and a shell that started the rank is at its next command
  shell.add(1, 0, "/sbin/init")
      .add(100, 90, "python train.py", started + "0")
      .says(group(0, 2))
      .add(102, 90, "sh -c python train.py; sleep 3000", started + "1")
      .add(103, 102, "sleep 3000", started + "1")
      .add(101, 1, "python train.py", started + "1")
      .forked()
      .group(99)
      .says(inherited);
  CHECK(shell.ranks() == "0:100");
}

TEST_CASE("a group is believed before variables, and a note says that they differ") {
  Node node;
  node.add(100, 50, "python train.py", "OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2")
      .says(group(1, 2));
  CHECK(node.ranks() == "1:100");
  REQUIRE(node.decide().notes.size() == 1);
  CHECK(node.decide().notes[0] ==
        "pid 100 is rank 1 of 2 by its process group, and rank 0 of 2 by its variables: the group "
        "is believed");
}

TEST_CASE("processes with a library that belong to no job are listed") {
  Node node;
  node.add(100, 50, "python train.py")
      .says(group(0, 1))
      .add(200, 50, "python notebook.py")
      .says({})
      .add(300, 50, "python serve.py");
  REQUIRE(node.decide().notes.size() == 1);
  CHECK(node.decide().notes[0].starts_with("pid 200 (python) has a communication library"));
}

TEST_CASE("nobody is asked if there is no way to ask") {
  Node node;
  node.add(100, 50, "python train.py").loaded();
  CHECK(oddrank::ranks::processes_to_ask(std::vector<oddrank::ranks::ProcessFacts>(), {}).empty());
  CHECK(node.to_ask() == "100");
  CHECK(node.ranks().empty());
}

TEST_CASE("processes with one number, none of which started the other, are asked") {
  const std::string shell = "RANK=0 WORLD_SIZE=1";
  Node node;
  node.add(90, 50, "mpirun -n 2 python train.py", shell)
      .add(100, 90, "python train.py", shell + " PMIX_NAMESPACE=mpi1")
      .add(101, 100, "python train.py", shell)
      .forked()
      .add(110, 90, "python train.py", shell + " PMIX_NAMESPACE=mpi1");
  CHECK(node.to_ask() == "100 110");

  Node told;
  told.add(90, 50, "mpirun -n 2 python train.py", shell)
      .add(100, 90, "python train.py", shell + " PMIX_NAMESPACE=mpi1")
      .says({ReportedBy::kMpi, 0, 2, -1, "", false})
      .add(101, 100, "python train.py", shell)
      .forked()
      .add(110, 90, "python train.py", shell + " PMIX_NAMESPACE=mpi1")
      .says({ReportedBy::kMpi, 1, 2, -1, "", false});
  CHECK(told.to_ask().empty());
  CHECK(told.ranks() == "0:100[101] 1:110");
  CHECK(told.jobs() == "mpi mpi1 | mpi mpi1");
  const auto notes = told.decide().notes;
  REQUIRE(notes.size() == 1);
  CHECK(notes[0] ==
        "pid 100 is rank 0 of 2 by MPI_COMM_WORLD, and rank 0 of 1 by its variables: MPI is "
        "believed; the same is true of 1 more");
}

TEST_CASE("below a wrapper with a doubtful number, what it runs is asked") {
  const std::string shell = "RANK=0";
  Node node;
  for (const int pid : {100, 200}) {
    node.add(pid, 50, "strace -f python train.py", shell)
        .says({})
        .communicates(false)
        .add(pid + 1, pid, "python train.py", shell)
        .add(pid + 2, pid + 1, "python worker.py", shell);
  }
  CHECK(node.to_ask() == "101 201");
}

TEST_CASE("a program that starts several others with its number is asked, and then they are") {
  const std::string shell = "RANK=0";
  Node node;
  node.add(100, 50, "mytool mpirun python train.py", shell)
      .add(101, 100, "mpirun python train.py", shell)
      .add(102, 101, "python train.py", shell)
      .add(103, 101, "python train.py", shell);
  CHECK(node.to_ask() == "100");
  Node silent;
  silent.add(100, 50, "mytool mpirun python train.py", shell)
      .says({})
      .communicates(false)
      .add(101, 100, "mpirun python train.py", shell)
      .add(102, 101, "python train.py", shell)
      .add(103, 101, "python train.py", shell);
  CHECK(silent.to_ask() == "102 103");
  Node workers;
  workers.add(100, 50, "python train.py", torch(0, 0))
      .add(101, 100, "python train.py", torch(0, 0))
      .forked()
      .add(102, 100, kSpawned, torch(0, 0));
  CHECK(workers.to_ask().empty());
}

TEST_CASE("a rank that MPI's launcher numbers otherwise than RANK is asked") {
  Node node;
  node.add(100, 50, "python train.py", "RANK=0 WORLD_SIZE=1 PMIX_RANK=3 PMI_SIZE=4");
  CHECK(node.to_ask() == "100");
  Node elastic;
  elastic.add(100, 50, "python train.py", torch(5, 1) + " PMIX_RANK=3");
  CHECK(elastic.to_ask().empty());
}

TEST_CASE("a launcher without ranks is told beside the ranks of another one") {
  Node node;
  node.add(90, 50, "torchrun --nnodes 2 train.py")
      .add(100, 50, "torchrun --nnodes 1 other.py")
      .add(101, 100, "python other.py", torch(0, 0, 1, 1));
  CHECK(node.ranks() == "0:101");
  const auto notes = node.decide().notes;
  REQUIRE(notes.size() == 1);
  CHECK(notes[0] == "pid 90 (torchrun) is a launcher that has started no ranks here");
}
