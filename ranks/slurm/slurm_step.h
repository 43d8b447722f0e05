// Finds the SLURM step of processes that lost SLURM's variables: `env -i`, `sudo`, `apptainer
// --cleanenv`, a login with pam_slurm_adopt. The step is in the cgroup, if the site has SLURM make
// cgroups, and in the title of slurmstepd above the process. Neither has the number of the task.
//
// Sources: nodes of SLURM 20.11, 22.05, 24.11 and 26.05, for the title and cgroups of version 1;
// for version 2 the format strings of their plugins cgroup/v2.
//
// How tasks of a SLURM step ended. The step's daemon on the node, slurmstepd, knows the states of
// its tasks while one of them runs. Then it exits, and they are lost: accounting has only the
// step's.
//
// It answers every process of its node over a local socket; `scontrol listpids` asks in the same
// way. Sources: src/common/stepd_api.c and src/slurmd/slurmstepd/req.c of SLURM 20.11, 22.05, 24.11
// and 26.05, which have the same request, request number and answer. All numbers are in the
// machine's byte order.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ranks/process_facts.h"

namespace oddrank::ranks {

struct SlurmStep {
  std::string job;   // "4711"
  std::string step;  // "0", "batch", "extern", "interactive"

  bool operator==(const SlurmStep&) const = default;
};

// Parses /proc/PID/cgroup: "0::/system.slice/n0_slurmstepd.scope/job_7/step_0/user/task_1" (version
// 2), "6:freezer:/slurm_n0/uid_1000/job_7/step_0" (version 1). Returns nullopt outside of a step.
std::optional<SlurmStep> step_of_cgroups(std::string_view text);

// Parses the title of a slurmstepd: "slurmstepd: [4711.0]".
std::optional<SlurmStep> step_of_title(std::string_view title);

// Gives SLURM_JOB_ID and SLURM_STEP_ID to the processes that were read and have none, or another
// job's: a process can set its variables, but not its cgroup, nor the daemon above it. A process
// that a login brought into the job (step "extern") gets them only if its variables give it a rank.
// Does nothing if no process of the node has SLURM_JOB_ID. `cgroups_of` returns the text for a
// process, `by_root` whether root runs it, since any user may give a process such a title.
void add_slurm_steps(std::vector<ProcessFacts>& all,
                     const std::function<std::string(pid_t)>& cgroups_of,
                     const std::function<bool(pid_t)>& by_root);

// The version of the protocol: first the client sends its version, then the daemon.
inline constexpr std::int32_t kStepProtocol = 45 << 8;    // of 26.05
inline constexpr std::int32_t kOldestProtocol = 36 << 8;  // of 20.11
inline constexpr std::int32_t kTaskInfoRequest = 14;      // REQUEST_STEP_TASK_INFO
inline constexpr std::uint32_t kMaxStepTasks = 65536;     // of one node
inline constexpr std::size_t kStepTaskSize = 17;          // of a task in the answer

struct EndedTask {
  std::int32_t task = -1;   // its number in the step, SLURM_PROCID
  std::int32_t status = 0;  // as wait(2) has it

  bool operator==(const EndedTask&) const = default;
};

// Returns the path of the socket on which the daemon of a step ("4711.0") listens, from the text of
// /proc/net/unix: "/var/spool/slurmd/n1_4711.0"; "" if there is none, or more than one.
std::string step_socket(std::string_view table, std::string_view step);

// Parses the tasks of an answer, without the count before them; returns those that have ended.
// kBadData if the bytes are not such a list.
Result<std::vector<EndedTask>> parse_step_tasks(std::string_view bytes);

}  // namespace oddrank::ranks
