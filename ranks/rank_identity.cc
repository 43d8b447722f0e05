#include "ranks/rank_identity.h"

#include <array>
#include <span>
#include <string_view>

#include "base/parse_number.h"
#include "base/split.h"
#include "snapshot/libraries/launcher_variables.h"

namespace oddrank::ranks {

using snapshot::LauncherVariables;

namespace {

constexpr std::int32_t kMaxRank = 1 << 24;
constexpr std::size_t kMaxListed = 65536;
// Slurm's own numbers for batch, extern, interactive and pending steps begin here.
constexpr std::uint32_t kFirstSpecialStep = 0xfffffff0;

std::int32_t number_of(const attach::Environment& environment, std::string_view name) {
  const auto number = parse_number<std::int32_t>(environment.get(name));
  return number && *number >= 0 && *number <= kMaxRank ? *number : -1;
}

std::int32_t slurm_tasks(const attach::Environment& environment) {
  const std::int32_t tasks = number_of(environment, snapshot::kSlurmVariables.world_size);
  return tasks >= 0 ? tasks : number_of(environment, "SLURM_NTASKS");
}

// "4711.0" for a process of a numbered step; "" in batch scripts, extern and interactive steps.
std::string step_of(const attach::Environment& environment) {
  const std::string_view job = environment.get("SLURM_JOB_ID");
  const auto step = parse_number<std::uint32_t>(environment.get("SLURM_STEP_ID"));
  if (job.empty() || !step || *step >= kFirstSpecialStep) {
    return {};
  }
  return std::string(job) + "." + std::to_string(*step);
}

std::string job_of(const attach::Environment& environment, const RankIdentity& identity) {
  const std::string step = step_of(environment);
  const bool is_task = number_of(environment, "SLURM_PROCID") == identity.rank;
  // If mpirun starts its daemons with srun on other nodes but not on its own, its children have
  // Slurm's step only on some nodes; mpirun's own name for the job is the same on all.
  if (identity.source == RankSource::kMpi && !(is_task && !step.empty())) {
    for (const std::string_view name :
         {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "PMI_JOBID", "FLUX_JOB_ID"}) {
      if (environment.has(name)) {
        return "mpi " + std::string(environment.get(name));
      }
    }
  }
  if (!step.empty()) {
    return "slurm " + step;
  }
  if (!identity.rendezvous.empty()) {
    return identity.rendezvous;
  }
  return environment.has("SLURM_JOB_ID") ? "slurm " + std::string(environment.get("SLURM_JOB_ID"))
                                         : std::string();
}

// Returns what the first of these launchers that tells it says; -1 if none does.
std::int32_t told_by(const attach::Environment& environment,
                     std::span<const LauncherVariables> launchers,
                     std::string_view LauncherVariables::*variable) {
  for (const LauncherVariables& launcher : launchers) {
    if (const std::int32_t number = number_of(environment, launcher.*variable); number >= 0) {
      return number;
    }
  }
  return -1;
}

std::optional<RankIdentity> from_rank_variable(const attach::Environment& environment) {
  RankIdentity identity;
  identity.source = RankSource::kRankVariable;
  identity.rank = number_of(environment, snapshot::kTorchVariables.rank);
  if (identity.rank < 0) {
    return std::nullopt;
  }
  identity.local_rank = number_of(environment, snapshot::kTorchVariables.local_rank);
  identity.world_size = number_of(environment, snapshot::kTorchVariables.world_size);
  identity.local_world_size = number_of(environment, snapshot::kTorchVariables.local_world_size);
  identity.elastic = environment.has("TORCHELASTIC_RUN_ID");
  return identity;
}

std::optional<RankIdentity> from_mpi(const attach::Environment& environment, bool single_task) {
  // The scheduler may tell more about the task that the launcher made.
  const auto launchers = std::span(snapshot::kLaunchers).subspan(1);
  RankIdentity identity;
  identity.source = RankSource::kMpi;
  identity.rank =
      told_by(environment, launchers.first(launchers.size() - 1), &LauncherVariables::rank);
  if (identity.rank < 0) {
    return std::nullopt;
  }
  identity.local_rank = told_by(environment, launchers, &LauncherVariables::local_rank);
  identity.world_size = told_by(environment, launchers, &LauncherVariables::world_size);
  identity.local_world_size = told_by(environment, launchers, &LauncherVariables::local_world_size);
  // srun itself sets PMIX_RANK or PMI_RANK, for interactive steps too.
  const bool by_srun = number_of(environment, "SLURM_PROCID") == identity.rank &&
                       !environment.has("OMPI_COMM_WORLD_RANK") && !step_of(environment).empty();
  if (by_srun && identity.world_size <= 1 && !single_task) {
    return std::nullopt;
  }
  return identity;
}

std::optional<RankIdentity> from_slurm(const attach::Environment& environment, bool single_task) {
  RankIdentity identity;
  identity.source = RankSource::kSlurm;
  identity.rank = number_of(environment, snapshot::kSlurmVariables.rank);
  identity.local_rank = number_of(environment, snapshot::kSlurmVariables.local_rank);
  identity.world_size = slurm_tasks(environment);
  identity.outside_step = step_of(environment).empty();
  if (identity.rank < 0 || ((identity.outside_step || identity.world_size <= 1) && !single_task)) {
    return std::nullopt;
  }
  if (identity.outside_step) {
    identity.world_size = 1;  // SLURM_NTASKS is what srun would start
  }
  return identity;
}

// Variables of an outer launcher may be about its own task, which has started several ranks.
std::optional<RankIdentity> from_itself(const attach::Environment& environment,
                                        const ReportedWorld& reported) {
  if (!reported.has_rank() && !(reported.inherited && reported.rank >= 0)) {
    return std::nullopt;
  }
  RankIdentity identity;
  identity.source = RankSource::kItself;
  identity.rank = reported.rank;
  identity.world_size = reported.world_size;
  const bool agree = number_of(environment, "RANK") == reported.rank;
  identity.local_rank = agree ? number_of(environment, "LOCAL_RANK") : reported.index;
  return identity;
}

std::vector<std::int32_t> all_below(std::int32_t size) {
  std::vector<std::int32_t> ranks;
  for (std::int32_t rank = 0; rank < size && ranks.size() < kMaxListed; ++rank) {
    ranks.push_back(rank);
  }
  return ranks;
}

std::optional<RankIdentity> from_variables(const attach::Environment& environment,
                                           bool single_task) {
  auto identity = from_rank_variable(environment);
  if (!identity) {
    identity = from_mpi(environment, single_task);
  }
  if (!identity) {
    identity = from_slurm(environment, single_task);
  }
  if (identity) {
    identity->rendezvous = rendezvous_of(environment);
  }
  return identity;
}

// Slurm lists its tasks; torchrun sets the number of ranks that it started on this node.
std::vector<std::int32_t> node_ranks_of(const attach::Environment& environment,
                                        const RankIdentity& identity) {
  const std::int32_t tasks = slurm_tasks(environment);
  const bool tasks_are_ranks =
      identity.world_size <= 0 || tasks <= 0 || tasks == identity.world_size;
  if (number_of(environment, "SLURM_PROCID") == identity.rank && !step_of(environment).empty() &&
      !identity.elastic && tasks_are_ranks) {
    std::vector<std::int32_t> listed = parse_ranks(environment.get("SLURM_GTIDS"));
    for (const std::int32_t rank : listed) {
      if (rank == identity.rank) {
        return listed;
      }
    }
  }
  std::vector<std::int32_t> ranks;
  const std::int32_t first = identity.rank - identity.local_rank;
  if (identity.local_rank < 0 || first < 0 || identity.local_world_size <= identity.local_rank ||
      identity.local_world_size > static_cast<std::int32_t>(kMaxListed)) {
    return ranks;
  }
  // Only torchrun is known to number the ranks of a node without gaps.
  for (std::int32_t i = 0;
       identity.source == RankSource::kRankVariable && i < identity.local_world_size; ++i) {
    ranks.push_back(first + i);
  }
  return ranks;
}

}  // namespace

bool is_own_address(std::string_view address) {
  const std::string_view host = address.substr(0, address.rfind(':'));
  return host == "localhost" || host.starts_with("127.") || host == "::1" || host == "[::1]";
}

std::vector<std::int32_t> parse_ranks(std::string_view text) {
  std::vector<std::int32_t> ranks;
  for (const std::string_view word : split(text, ',')) {
    const auto rank = parse_number<std::int32_t>(trim(word));
    if (!rank || *rank < 0 || *rank > kMaxRank || ranks.size() >= kMaxListed) {
      break;
    }
    ranks.push_back(*rank);
  }
  return ranks;
}

std::string rendezvous_of(const attach::Environment& environment) {
  const std::string_view host = environment.get("MASTER_ADDR");
  const std::string_view port = environment.get("MASTER_PORT");
  if (host.empty() || port.empty()) {
    return {};
  }
  return std::string(host) + ":" + std::string(port);
}

std::optional<RankIdentity> identify_rank(const attach::Environment& environment,
                                          bool single_task,
                                          const ReportedWorld& reported) {
  auto outer = from_variables(environment, single_task);
  auto identity = from_itself(environment, reported);
  // Variables that agree with it say more than the process itself does.
  if (!identity || (outer && outer->source == RankSource::kRankVariable && !reported.inherited &&
                    !contradicts(*identity, *outer))) {
    identity = outer;
  }
  if (!identity) {
    return std::nullopt;
  }
  identity->rendezvous = reported.address.empty() ? rendezvous_of(environment) : reported.address;
  // Ranks that were asked and ranks that were not must name their job alike.
  if (identity->source == RankSource::kItself && reported.by == ReportedBy::kMpi) {
    RankIdentity of_mpi = *identity;
    of_mpi.source = RankSource::kMpi;
    identity->job = job_of(environment, of_mpi);
  } else if (outer) {
    identity->job = job_of(environment, *outer);
  }
  if (identity->job.empty()) {
    identity->job = job_of(environment, *identity);
  }
  identity->node_ranks = node_ranks_of(environment, *identity);
  // A group whose ranks have met at this very machine has all of them here.
  if (identity->node_ranks.empty() && reported.by == ReportedBy::kGroup &&
      is_own_address(reported.address)) {
    identity->node_ranks = all_below(reported.world_size);
  }
  return identity;
}

bool is_doubtful(const attach::Environment& environment) {
  const auto reported = from_rank_variable(environment);
  const auto mpi = from_mpi(environment, true);
  return reported && mpi && !reported->elastic && reported->rank != mpi->rank;
}

std::string contradiction_words(pid_t pid,
                                const RankIdentity& outer,
                                ReportedBy by,
                                std::int32_t rank,
                                std::int32_t world_size) {
  const auto place = [](std::int32_t number, std::int32_t of) {
    return "rank " + std::to_string(number) + (of > 0 ? " of " + std::to_string(of) : "");
  };
  const bool mpi = by == ReportedBy::kMpi;
  return "pid " + std::to_string(pid) + " is " + place(rank, world_size) + " by " +
         (mpi ? "MPI_COMM_WORLD" : "its process group") + ", and " +
         place(outer.rank, outer.world_size) + " by its variables: " + (mpi ? "MPI" : "the group") +
         " is believed";
}

bool contradicts(const RankIdentity& one, const RankIdentity& other) {
  return one.rank != other.rank ||
         (one.world_size > 0 && other.world_size > 0 && one.world_size != other.world_size);
}

}  // namespace oddrank::ranks
