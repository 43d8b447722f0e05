// The environment variables by which launchers tell each process its place in the job. Another
// launcher is another row.
//
// Sources: the manuals of torchrun, mpirun (Open MPI 4 and 5), MPICH's Hydra, MVAPICH2, HPE's PALS,
// flux-run and srun. A process has those of all launchers around it, so the order counts: the
// launcher of the program itself comes first, the scheduler last.
#pragma once

#include <array>
#include <string_view>

namespace oddrank::snapshot {

// Empty: the launcher does not tell it.
struct LauncherVariables {
  std::string_view rank;
  std::string_view local_rank = {};  // on its node
  std::string_view world_size = {};
  std::string_view local_world_size = {};
};

// torchrun, accelerate, deepspeed, and scripts that imitate them.
inline constexpr LauncherVariables kTorchVariables{"RANK", "LOCAL_RANK", "WORLD_SIZE",
                                                   "LOCAL_WORLD_SIZE"};
inline constexpr LauncherVariables kSlurmVariables{"SLURM_PROCID", "SLURM_LOCALID",
                                                   "SLURM_STEP_NUM_TASKS"};
inline constexpr std::array<LauncherVariables, 8> kLaunchers{{
    kTorchVariables,
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_SIZE",
     "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"PMIX_RANK"},
    {"PMI_RANK", "MPI_LOCALRANKID", "PMI_SIZE", "MPI_LOCALNRANKS"},
    {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_SIZE",
     "MV2_COMM_WORLD_LOCAL_SIZE"},
    {"PALS_RANKID", "PALS_LOCAL_RANKID"},
    {"FLUX_TASK_RANK", "FLUX_TASK_LOCAL_ID", "FLUX_JOB_SIZE"},
    kSlurmVariables,
}};

}  // namespace oddrank::snapshot
