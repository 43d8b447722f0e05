#include "attach/proc_environ.h"

#include <algorithm>
#include <array>
#include <vector>

#include "attach/proc_stat.h"
#include "base/ascii.h"
#include "base/read_file.h"
#include "snapshot/libraries/launcher_variables.h"

namespace oddrank::attach {
namespace {

constexpr std::size_t kMaxEnviron = std::size_t{8} << 20;
constexpr std::size_t kMaxValue = 512;

// Beside those of snapshot/libraries/launcher_variables.h.
constexpr std::array kOthers = std::to_array<std::string_view>(
    {// torchrun, accelerate, deepspeed, and scripts that imitate them
     "GROUP_RANK", "GROUP_WORLD_SIZE", "NODE_RANK", "MASTER_ADDR", "MASTER_PORT",
     "TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT", "TORCHELASTIC_MAX_RESTARTS",
     // torchft
     "TORCHFT_LIGHTHOUSE", "REPLICA_GROUP_ID",
     // Slurm
     "SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_NODEID", "SLURM_NTASKS", "SLURM_STEP_NUM_NODES",
     "SLURM_STEP_TASKS_PER_NODE", "SLURM_NNODES", "SLURM_GTIDS", "SLURMD_NODENAME",
     "SLURM_HET_GROUP_ID", "SLURM_HET_SIZE", "SLURM_ARRAY_TASK_ID", "SLURM_RESTART_COUNT",
     // other launchers
     "OMPI_MCA_ess_base_jobid", "PMIX_NAMESPACE", "PMI_ID", "PMI_JOBID", "FLUX_JOB_ID",
     // devices
     "CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "CUDA_LAUNCH_BLOCKING",
     "OMP_NUM_THREADS",
     // configuration of communication
     "NCCL_DEBUG", "NCCL_DEBUG_SUBSYS", "NCCL_DEBUG_FILE", "NCCL_SOCKET_IFNAME", "NCCL_IB_DISABLE",
     "NCCL_IB_HCA", "NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE", "NCCL_NVLS_ENABLE", "NCCL_RAS_ENABLE",
     "NCCL_RAS_ADDR", "NCCL_ALGO", "NCCL_PROTO", "GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME",
     "TORCH_DISTRIBUTED_DEBUG", "TORCH_CPP_LOG_LEVEL", "TORCH_NCCL_TRACE_BUFFER_SIZE",
     "TORCH_FR_BUFFER_SIZE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE", "TORCH_FR_DUMP_TEMP_FILE",
     "TORCH_NCCL_DEBUG_INFO_PIPE_FILE", "TORCH_NCCL_DUMP_ON_TIMEOUT",
     "TORCH_NCCL_ASYNC_ERROR_HANDLING", "TORCH_NCCL_BLOCKING_WAIT", "NCCL_BLOCKING_WAIT",
     "TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC", "TORCH_NCCL_ENABLE_MONITORING", "TORCH_NCCL_DESYNC_DEBUG",
     "TORCH_NCCL_CUDA_EVENT_CACHE",
     // where the recorder's dumps are, and how to request one from a rank
     "HOME", "XDG_CACHE_HOME", "TORCH_FR_DEBUG_INFO_PIPE_FILE", "TORCH_HCCL_DEBUG_INFO_PIPE_FILE",
     "TORCH_WORKER_SERVER_SOCKET"});

std::vector<std::string_view> all_kept() {
  std::vector<std::string_view> kept(kOthers.begin(), kOthers.end());
  for (const snapshot::LauncherVariables& launcher : snapshot::kLaunchers) {
    for (const std::string_view name :
         {launcher.rank, launcher.local_rank, launcher.world_size, launcher.local_world_size}) {
      if (!name.empty()) {
        kept.push_back(name);
      }
    }
  }
  return kept;
}

std::string clean_value(std::string_view value) {
  std::string text(value.substr(0, kMaxValue));
  std::replace_if(text.begin(), text.end(), is_control, '?');
  return text;
}

}  // namespace

std::string_view Environment::get(std::string_view name) const {
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [name](const Entry& entry) { return entry.first == name; });
  return found == entries_.end() ? std::string_view() : std::string_view(found->second);
}

std::span<const std::string_view> kept_variables() {
  static const std::vector<std::string_view> kept = all_kept();
  return kept;
}

Environment parse_proc_environ(std::string_view text) {
  const std::span<const std::string_view> kept = kept_variables();
  std::vector<Environment::Entry> entries;
  while (!text.empty()) {
    const std::string_view entry = text.substr(0, text.find('\0'));
    text.remove_prefix(std::min(entry.size() + 1, text.size()));
    const auto equals = entry.find('=');
    if (equals == std::string_view::npos) {
      continue;
    }
    const std::string_view name = entry.substr(0, equals);
    if (std::find(kept.begin(), kept.end(), name) == kept.end()) {
      continue;
    }
    const bool seen = std::any_of(entries.begin(), entries.end(),
                                  [name](const auto& other) { return other.first == name; });
    if (!seen) {
      entries.emplace_back(name, clean_value(entry.substr(equals + 1)));
    }
  }
  return Environment(std::move(entries));
}

Result<Environment> read_proc_environ(pid_t pid) {
  ODDRANK_TRY(const std::string text, read_process_file(pid, "environ", kMaxEnviron));
  return parse_proc_environ(text);
}

}  // namespace oddrank::attach
