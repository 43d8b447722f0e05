// Identifies the job and rank of a process by its memory, or else by the variables with which it
// was started. A process with such variables need not be the rank itself: wrappers and workers have
// them, too.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attach/proc_environ.h"
#include "ranks/reported_world.h"

namespace oddrank::ranks {

// The source of the rank number, the most trusted first: the closer a launcher is to the program,
// the more.
enum class RankSource : std::uint8_t {
  kItself = 0,    // its process group, or the call in which it makes one (reported_world.h)
  kRankVariable,  // RANK: torchrun, accelerate, deepspeed, scripts
  kMpi,           // OMPI_COMM_WORLD_RANK, PMIX_RANK, PMI_RANK, ...
  kSlurm,         // SLURM_PROCID of a task of a step, or of a batch script
};

struct RankIdentity {
  RankSource source = RankSource::kRankVariable;
  std::int32_t rank = -1;
  std::int32_t local_rank = -1;
  std::int32_t world_size = -1;
  std::int32_t local_world_size = -1;
  // "slurm 4711.0", "n0:29500", "mpi prterun-n0-12@1"; "" if only the process tree shows it.
  std::string job;
  std::string rendezvous;  // "n0:29500", even if `job` is SLURM's
  bool elastic = false;    // started by torchrun
  // Started by a SLURM job's batch script or shell, not as a task of a step: every program there
  // has these variables.
  bool outside_step = false;
  // Ranks that the same launcher started on this node, if known; includes this one.
  std::vector<std::int32_t> node_ranks;
};

// Returns "n0:29500" by the variables of torch.distributed; "" if they are not set.
std::string rendezvous_of(const attach::Environment& environment);

// Returns nullopt if the variables show no rank. `single_task`: a step with one task counts as a
// job of one rank, and so does a program that a batch script runs without srun. (Otherwise they do
// not: an interactive step's shell and everything in it has SLURM_PROCID=0.)
std::optional<RankIdentity> identify_rank(const attach::Environment& environment,
                                          bool single_task = false,
                                          const ReportedWorld& reported = {});

// Returns whether an address means the machine (or network namespace) itself: "127.0.0.1:29500",
// "localhost:29500", "[::1]:29500".
bool is_own_address(std::string_view address);

// Returns whether two identities name different places in a job: another rank, or another number of
// ranks.
bool contradicts(const RankIdentity& one, const RankIdentity& other);

// Returns whether MPI's launcher and RANK disagree, and torchrun has not set RANK: it may come from
// the shell that ran mpirun.
bool is_doubtful(const attach::Environment& environment);

// Returns "pid 71 is rank 3 of 4 by its process group, and rank 0 of 2 by its variables: the group
// is believed". `outer`: by its variables; `by`: the source of the other identity.
std::string contradiction_words(pid_t pid,
                                const RankIdentity& outer,
                                ReportedBy by,
                                std::int32_t rank,
                                std::int32_t world_size);

// Reads comma-separated numbers, as in SLURM_GTIDS; at most 65536. Stops at the first piece that is
// not a number.
std::vector<std::int32_t> parse_ranks(std::string_view text);

}  // namespace oddrank::ranks
