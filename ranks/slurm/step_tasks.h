// How tasks of a SLURM step ended. The step's daemon on the node, slurmstepd, knows the states of
// its tasks while one of them runs. Then it exits, and they are lost: accounting has only the
// step's.
//
// It answers every process of its node over a local socket; `scontrol listpids` asks in the same
// way. Sources: src/common/stepd_api.c and src/slurmd/slurmstepd/req.c of SLURM 20.11, 22.05, 24.11
// and 26.05, which have the same request, request number and answer. All numbers are in the
// machine's byte order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace oddrank::ranks {

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
