// Parses the output of `nvidia-smi --query-gpu=... --format=csv,noheader,nounits`, and of
// `nvidia-smi nvlink -e`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "snapshot/collective_state.h"
#include "snapshot/tables.h"

namespace oddrank::collectives {

// The fields to query, in the order that read_gpu_table expects.
inline constexpr std::string_view kGpuFields =
    "index,uuid,name,utilization.gpu,utilization.memory,power.draw,power.limit,memory.used,"
    "memory.total,clocks.sm,ecc.errors.uncorrected.volatile.total,pcie.link.width.current,"
    "pci.bus_id";
inline constexpr std::string_view kGpuProcessFields = "gpu_uuid,pid";
// What lowers the clock, since driver 535 and before it. A name that the tool does not know costs
// the whole answer, so this is a question of its own.
inline constexpr std::string_view kGpuClockFields = "uuid,clocks_event_reasons.active";
inline constexpr std::string_view kOldGpuClockFields = "uuid,clocks_throttle_reasons.active";

// What nvidia-smi has printed; all but `devices` may be empty.
struct GpuAnswers {
  std::string_view devices;
  std::string_view processes;  // of --query-compute-apps
  std::string_view clocks;
  std::string_view nvlinks;        // of nvlink -e
  std::string_view nvlinks_later;  // the same at the end of the capture
};

// Returns a row for each device. Values that a device does not have ("[N/A]", "[Not Supported]")
// stay -1; malformed lines are left out.
std::vector<snapshot::Device> read_gpu_table(const GpuAnswers& answers, snapshot::Tables& tables);

// Returns whether the text has an answer of kGpuClockFields.
bool has_clock_reasons(std::string_view clocks);

// Returns whether a GPU in an answer of nvlink -e has counted errors.
bool has_nvlink_errors(std::string_view nvlinks);

}  // namespace oddrank::collectives
