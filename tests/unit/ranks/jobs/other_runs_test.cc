#include "ranks/jobs/other_runs.h"

#include "tests/support/catch.h"
#include "tests/unit/ranks/node_table.h"

namespace oddrank {
namespace {

using test::Node;

constexpr std::uint64_t kSecond = 1'000'000;

// A node with ranks of one address, "n0:29500", that say which rank they are.
class Runs {
 public:
  Runs& process(pid_t pid, pid_t parent, const char* command, std::uint64_t started_s) {
    node_.add(pid, parent, command).started(started_s * kSecond);
    return *this;
  }
  Runs& rank(pid_t pid, pid_t parent, int rank, std::uint64_t started_s, int size = 4) {
    ranks::ReportedWorld told;
    told.by = ranks::ReportedBy::kGroup;
    told.rank = rank;
    told.world_size = size;
    told.address = "n0:29500";
    node_.add(pid, parent, "python train.py", test::torch(rank, rank, size, size)).says(told);
    node_.started(started_s * kSecond);
    return *this;
  }
  Node& node() { return node_; }
  std::string ranks() const { return node_.ranks(); }
  std::string notes() const {
    std::string text;
    for (const std::string& note : node_.decide().notes) {
      text += note + "\n";
    }
    return text;
  }

 private:
  Node node_;
};

}  // namespace

TEST_CASE("a rank of an earlier run does not stand for the one of the new run") {
  Runs runs;
  runs.process(50, 1, "bash run.sh", 1).process(60, 1, "bash run.sh", 100);
  runs.rank(101, 50, 1, 2);  // its rank 0 has ended, and left the port to the next run
  runs.rank(200, 60, 0, 101).rank(201, 60, 1, 101);
  CHECK(runs.ranks() == "0:200 1:201");
  CHECK(runs.notes() ==
        "not read, unless by pid: pid 101 (python) as rank 1 of n0:29500 (another run)\n");
}

TEST_CASE("runs are told apart whoever has started their ranks") {
  for (const bool one_shell : {false, true}) {
    Runs runs;
    runs.process(50, 1, "bash", 1);
    const auto starter = [&](pid_t pid) {
      if (!one_shell) {
        runs.process(pid + 1000, 1, "ssh n0", static_cast<std::uint64_t>(pid));
      }
      return one_shell ? 50 : pid + 1000;
    };
    // Pids are times, too: the ranks of a run start within a second or two.
    for (const auto& [pid, rank] :
         {std::pair{101, 1}, {102, 2}, {200, 0}, {201, 1}, {202, 2}, {203, 3}}) {
      const pid_t parent = starter(pid);
      runs.rank(pid, parent, rank, static_cast<std::uint64_t>(pid));
    }
    CHECK(runs.ranks() == "0:200 1:201 2:202 3:203");
  }
}

TEST_CASE("a later program with the number of a rank is not the job") {
  Runs runs;
  runs.process(50, 1, "bash run.sh", 1).process(60, 1, "bash debug.sh", 100);
  for (const int rank : {0, 1, 2}) {
    runs.rank(100 + rank, 50, rank, 2);
  }
  runs.rank(200, 60, 1, 101);
  CHECK(runs.ranks() == "0:100 1:101 2:102");
}

TEST_CASE("two runs that are both complete are two jobs") {
  Runs runs;
  runs.process(50, 1, "bash run.sh", 1).process(60, 1, "bash run.sh", 100);
  runs.rank(100, 50, 0, 2, 2).rank(101, 50, 1, 2, 2);
  runs.rank(200, 60, 0, 101, 2).rank(201, 60, 1, 101, 2);
  CHECK(runs.ranks() == "0:200 1:201 0:100 1:101");
  CHECK(runs.node().jobs() ==
        "n0:29500 | n0:29500 | n0:29500 from pid 100 | n0:29500 from pid 100");
  CHECK(runs.notes().empty());
}

TEST_CASE("what another run has started belongs to no rank of this one") {
  Runs runs;
  runs.process(50, 1, "bash run.sh", 1).process(60, 1, "bash run.sh", 100);
  runs.rank(101, 50, 1, 2).rank(200, 60, 0, 101).rank(201, 60, 1, 101);
  runs.node().add(110, 101, "python train.py", test::torch(1, 1, 4, 4)).forked();
  runs.node().started(200 * kSecond);
  runs.node().add(210, 201, "python train.py", test::torch(1, 1, 4, 4)).forked();
  runs.node().started(200 * kSecond);
  CHECK(runs.ranks() == "0:200 1:201[210]");
}

TEST_CASE("helpers with the number of a rank, which is not theirs, are no other run") {
  Runs runs;
  runs.process(50, 1, "bash run.sh", 1);
  runs.rank(100, 50, 0, 2).rank(101, 50, 1, 2);
  runs.node().add(120, 50, "python monitor.py", test::torch(1, 1, 4, 4)).started(3 * kSecond);
  CHECK(runs.ranks() == "0:100 1:101[120]");
  CHECK(runs.notes().empty());
}

TEST_CASE("runs of one rank each, a sweep, are as many jobs") {
  Runs runs;
  runs.process(50, 1, "bash run.sh", 1);
  runs.rank(100, 50, 0, 2, 1).rank(101, 50, 0, 3, 1).rank(102, 50, 0, 4, 1);
  CHECK(runs.ranks() == "0:102 0:100 0:101");
  CHECK(runs.node().jobs() == "n0:29500 | n0:29500 from pid 100 | n0:29500 from pid 101");
  CHECK(runs.notes().empty());
}

TEST_CASE("runs are as few as they can be, whenever their ranks began") {
  Runs runs;
  runs.process(50, 1, "bash run.sh", 1);
  runs.rank(100, 50, 0, 2, 2).rank(101, 50, 1, 20, 2).rank(201, 50, 1, 21, 2);
  CHECK(runs.ranks() == "0:100 1:101");
  CHECK(runs.node().decide().obstacle.empty());
}

TEST_CASE("a rank that may have been taken for another run's is not said to be gone") {
  Runs runs;
  runs.process(50, 1, "bash run.sh", 1).process(60, 1, "bash run.sh", 20);
  runs.rank(100, 50, 0, 2).rank(101, 50, 1, 2);
  runs.rank(201, 60, 1, 21).rank(202, 60, 2, 21).rank(203, 60, 3, 21);
  CHECK(runs.ranks() == "1:201 2:202 3:203");
  CHECK(runs.node().decide().obstacle ==
        "pid 100 (python) has the number of rank 0, but was taken for another run's");
}

TEST_CASE("a sweep is told by its variables alone, whoever started it") {
  const std::string alone = "RANK=0 WORLD_SIZE=1 MASTER_ADDR=localhost MASTER_PORT=29500";
  for (const pid_t starter : {50, 1}) {
    Node node;
    node.add(50, 1, "bash run.sh");
    node.add(100, starter, "python train.py --lr 1", alone);
    node.add(101, starter, "python train.py --lr 2", alone);
    node.add(102, 101, "python train.py --lr 2", alone).forked();
    CHECK(node.ranks() == "0:101[102] 0:100");
  }
}

TEST_CASE("programs that only initialise MPI are no runs of the job beside them") {
  Node node;
  ranks::ReportedWorld told;
  told.by = ranks::ReportedBy::kMpi;
  told.rank = 0;
  told.world_size = 1;
  node.add(50, 1, "bash run.sh");
  node.add(100, 50, "python train.py", test::torch(0, 0, 2)).loaded();
  node.add(101, 50, "python train.py", test::torch(1, 1, 2)).loaded();
  node.add(120, 50, "python convert.py", test::torch(0, 0, 2)).says(told);
  CHECK(node.ranks().starts_with("0:100"));
}

TEST_CASE("processes of two users are never of one job") {
  Node node;
  node.add(50, 1, "sshd").add(60, 50, "bash").user(1002).add(70, 50, "bash").user(1001);
  node.add(90, 60, "python train.py", test::torch(0, 0, 2, 2)).user(1002);
  node.add(100, 70, "python train.py", test::torch(0, 0, 2, 2)).user(1001);
  node.add(101, 70, "python train.py", test::torch(1, 1, 2, 2)).user(1001);
  node.add(102, 101, "python train.py", test::torch(1, 1, 2, 2)).user(1003).forked();
  node.add(110, 60, "python train.py", test::torch(1, 1, 2, 2)).user(1002);
  CHECK(node.ranks() == "0:100 1:101[102] 0:90 1:110");
  CHECK(node.jobs() ==
        "n0:29500 of user 1001 | n0:29500 of user 1001 | n0:29500 of user 1002 | "
        "n0:29500 of user 1002");
  ranks::DiscoverOptions options;
  options.reader = 1001;
  CHECK(node.jobs(options).starts_with("n0:29500 | n0:29500 | "));
}

TEST_CASE("a SLURM job is its user's, whatever others say of themselves") {
  Node node;
  node.add(80, 1, "slurmstepd:").add(85, 1, "bash").user(1002);
  node.add(90, 85, "python train.py", test::slurm(0, 2)).user(1002);
  node.add(100, 80, "python train.py", test::slurm(0, 2)).user(1001);
  node.add(101, 80, "python train.py", test::slurm(1, 2)).user(0).proven();  // sudo
  ranks::DiscoverOptions options;
  options.slurm_job = "7";
  options.slurm_user = 1001;
  CHECK(node.ranks(options) == "0:100 1:101");
  CHECK(node.decide(options).notes ==
        std::vector<std::string>{"not read: pid 90 (python) of user 1002, with variables of job 7, "
                                 "which is of user 1001"});
}

TEST_CASE("ranks that are given by pid are read, of whatever run they are") {
  Runs runs;
  runs.process(50, 1, "bash run.sh", 1).process(60, 1, "bash run.sh", 100);
  runs.rank(101, 50, 1, 2).rank(200, 60, 0, 101).rank(201, 60, 1, 101);
  ranks::DiscoverOptions options;
  options.pids = {101};
  CHECK(runs.node().ranks(options) == "1:101");
  options.pids = {201, 200};
  CHECK(runs.node().ranks(options) == "0:200 1:201");
}

}  // namespace oddrank
