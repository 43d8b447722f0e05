#include "ranks/rank_identity.h"

#include <string>
#include <utility>
#include <vector>

#include "snapshot/libraries/launcher_variables.h"
#include "tests/support/catch.h"

using oddrank::attach::Environment;
using oddrank::ranks::identify_rank;
using oddrank::ranks::parse_ranks;
using oddrank::ranks::RankSource;
using oddrank::ranks::ReportedBy;
using oddrank::ranks::ReportedWorld;

namespace {

Environment with(std::vector<Environment::Entry> entries) {
  return Environment(std::move(entries));
}

}  // namespace

TEST_CASE("torchrun's variables") {
  const auto identity = identify_rank(with({{"RANK", "5"},
                                            {"LOCAL_RANK", "1"},
                                            {"WORLD_SIZE", "8"},
                                            {"LOCAL_WORLD_SIZE", "4"},
                                            {"MASTER_ADDR", "n0"},
                                            {"MASTER_PORT", "29500"},
                                            {"TORCHELASTIC_RUN_ID", "x"}}));
  REQUIRE(identity);
  CHECK(identity->source == RankSource::kRankVariable);
  CHECK(identity->rank == 5);
  CHECK(identity->local_rank == 1);
  CHECK(identity->world_size == 8);
  CHECK(identity->job == "n0:29500");
  CHECK(identity->elastic);
  CHECK(identity->node_ranks == std::vector<std::int32_t>{4, 5, 6, 7});
}

TEST_CASE("a task of a Slurm step") {
  const std::vector<Environment::Entry> task{
      {"SLURM_JOB_ID", "4711"}, {"SLURM_STEP_ID", "0"}, {"SLURM_PROCID", "3"},
      {"SLURM_LOCALID", "1"},   {"SLURM_NTASKS", "8"},  {"SLURM_STEP_NUM_TASKS", "8"},
      {"SLURM_GTIDS", "2,3"}};
  const auto identity = identify_rank(with(task));
  REQUIRE(identity);
  CHECK(identity->source == RankSource::kSlurm);
  CHECK(identity->rank == 3);
  CHECK(identity->world_size == 8);
  CHECK(identity->job == "slurm 4711.0");
  CHECK(identity->node_ranks == std::vector<std::int32_t>{2, 3});
}

TEST_CASE("RANK wins over SLURM_PROCID, and the job is still Slurm's") {
  const auto identity = identify_rank(with({{"SLURM_JOB_ID", "4711"},
                                            {"SLURM_STEP_ID", "0"},
                                            {"SLURM_PROCID", "1"},
                                            {"SLURM_NTASKS", "2"},
                                            {"RANK", "6"},
                                            {"SLURM_GTIDS", "1"},
                                            {"MASTER_ADDR", "n0"},
                                            {"MASTER_PORT", "1"}}));
  REQUIRE(identity);
  CHECK(identity->rank == 6);
  CHECK(identity->job == "slurm 4711.0");
  CHECK(identity->rendezvous == "n0:1");
  CHECK(identity->node_ranks.empty());
}

TEST_CASE("batch scripts, extern and interactive steps are no tasks") {
  for (const char* step : {"", "batch", "extern", "4294967291", "4294967292", "4294967290", "-1"}) {
    INFO(step);
    CHECK_FALSE(identify_rank(with({{"SLURM_JOB_ID", "4711"},
                                    {"SLURM_STEP_ID", step},
                                    {"SLURM_PROCID", "0"},
                                    {"SLURM_NTASKS", "8"}})));
  }
}

TEST_CASE("a step of one task is a rank only if that is wanted") {
  const Environment one = with({{"SLURM_JOB_ID", "4711"},
                                {"SLURM_STEP_ID", "1"},
                                {"SLURM_PROCID", "0"},
                                {"SLURM_NTASKS", "8"},
                                {"SLURM_STEP_NUM_TASKS", "1"},
                                {"PMI_RANK", "0"}});
  CHECK_FALSE(identify_rank(one));
  CHECK(identify_rank(one, true));
}

TEST_CASE("each launcher's variables are read from a process, and tell its rank") {
  for (const auto& launcher : oddrank::snapshot::kLaunchers) {
    CAPTURE(launcher.rank);
    std::string text = std::string(launcher.rank) + "=5";
    for (const auto& [variable, value] :
         {std::pair(launcher.local_rank, "=1"), std::pair(launcher.world_size, "=8"),
          std::pair(launcher.local_world_size, "=4")}) {
      text += variable.empty() ? "" : '\0' + std::string(variable) + value;
    }
    text += '\0' + std::string("SLURM_JOB_ID=7") + '\0' + "SLURM_STEP_ID=0";
    const auto identity = identify_rank(oddrank::attach::parse_proc_environ(text));
    REQUIRE(identity);
    CHECK(identity->rank == 5);
    CHECK(identity->local_rank == (launcher.local_rank.empty() ? -1 : 1));
    CHECK(identity->world_size == (launcher.world_size.empty() ? -1 : 8));
    CHECK(identity->local_world_size == (launcher.local_world_size.empty() ? -1 : 4));
  }
}

TEST_CASE("MPI launchers, on their own and under Slurm") {
  const auto open_mpi = identify_rank(with({{"OMPI_COMM_WORLD_RANK", "2"},
                                            {"OMPI_COMM_WORLD_SIZE", "4"},
                                            {"OMPI_COMM_WORLD_LOCAL_RANK", "0"},
                                            {"PMIX_NAMESPACE", "prterun-n0-12@1"},
                                            {"PMIX_RANK", "2"}}));
  REQUIRE(open_mpi);
  CHECK(open_mpi->rank == 2);
  CHECK(open_mpi->world_size == 4);
  CHECK(open_mpi->local_rank == 0);
  CHECK(open_mpi->job == "mpi prterun-n0-12@1");

  // orted runs once a node under srun: SLURM_PROCID is the node's number.
  const auto under_slurm = identify_rank(with({{"OMPI_COMM_WORLD_RANK", "5"},
                                               {"OMPI_COMM_WORLD_SIZE", "8"},
                                               {"SLURM_PROCID", "1"},
                                               {"SLURM_JOB_ID", "7"},
                                               {"SLURM_STEP_ID", "0"},
                                               {"SLURM_NTASKS", "2"},
                                               {"OMPI_MCA_ess_base_jobid", "99"}}));
  CHECK(under_slurm->rank == 5);
  CHECK(under_slurm->job == "mpi 99");

  const auto by_srun = identify_rank(with({{"PMIX_RANK", "3"},
                                           {"SLURM_PROCID", "3"},
                                           {"SLURM_JOB_ID", "7"},
                                           {"SLURM_STEP_ID", "0"},
                                           {"SLURM_STEP_NUM_TASKS", "8"},
                                           {"PMIX_NAMESPACE", "s"}}));
  CHECK(by_srun->rank == 3);
  CHECK(by_srun->job == "slurm 7.0");
  CHECK(by_srun->world_size == 8);

  CHECK(identify_rank(with({{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}}))->world_size == 2);
}

TEST_CASE("invalid numbers are not used") {
  for (const char* rank : {"", "-1", "x", "3x", " 3", "99999999999", "1e3"}) {
    INFO(rank);
    CHECK_FALSE(identify_rank(with({{"RANK", rank}})));
  }
  CHECK(identify_rank(with({{"RANK", "0"}, {"WORLD_SIZE", "many"}}))->world_size == -1);
  CHECK(identify_rank(with({{"RANK", "0"}, {"LOCAL_RANK", "5"}, {"LOCAL_WORLD_SIZE", "8"}}))
            ->node_ranks.empty());
}

TEST_CASE("lists of ranks") {
  CHECK(parse_ranks("2,3") == std::vector<std::int32_t>{2, 3});
  CHECK(parse_ranks("").empty());
  CHECK(parse_ranks("1,x,2") == std::vector<std::int32_t>{1});
  CHECK(parse_ranks("-1").empty());
}

TEST_CASE("what a process says of itself counts before its variables") {
  const Environment task = with({{"SLURM_JOB_ID", "7"},
                                 {"SLURM_STEP_ID", "0"},
                                 {"SLURM_PROCID", "1"},
                                 {"SLURM_NTASKS", "2"},
                                 {"SLURM_GTIDS", "0,1"}});
  const ReportedWorld told{ReportedBy::kGroup, 3, 4, -1, "n0:29500", false};
  const auto identity = identify_rank(task, false, told);
  REQUIRE(identity);
  CHECK(identity->source == RankSource::kItself);
  CHECK(identity->rank == 3);
  CHECK(identity->world_size == 4);
  CHECK(identity->job == "slurm 7.0");  // as that of ranks that were not asked
  CHECK(identity->rendezvous == "n0:29500");
  CHECK(identity->node_ranks.empty());  // SLURM's list is of tasks

  const auto agreed =
      identify_rank(with({{"RANK", "3"}, {"LOCAL_RANK", "1"}, {"WORLD_SIZE", "4"}}), false, told);
  REQUIRE(agreed);
  CHECK(agreed->source == RankSource::kRankVariable);
  CHECK(agreed->local_rank == 1);
  CHECK(agreed->job == "n0:29500");
}
