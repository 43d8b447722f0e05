// Parses the output of `nvidia-smi --query-gpu=... --format=csv,noheader,nounits`.
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
    "memory.total,clocks.sm,ecc.errors.uncorrected.volatile.total,pcie.link.width.current";
inline constexpr std::string_view kGpuProcessFields = "gpu_uuid,pid";

// Returns a row for each device. Values that a device does not have ("[N/A]", "[Not Supported]")
// stay -1; malformed lines are left out. `processes`: the output of --query-compute-apps with
// kGpuProcessFields; may be empty.
std::vector<snapshot::Device> read_gpu_table(std::string_view devices,
                                             std::string_view processes,
                                             snapshot::Tables& tables);

}  // namespace oddrank::collectives
