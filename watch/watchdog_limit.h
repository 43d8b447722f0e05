// How long a job may be quiet before its own watchdog ends it.
//
// PyTorch's defaults: 10 min for a collective of NCCL, 30 min for all others (constants.py,
// default_pg_nccl_timeout and default_pg_timeout); the monitor of NCCL's watchdog thread ends the
// process after TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC, 480 unless set (ProcessGroupNCCL.hpp), unless
// TORCH_NCCL_ENABLE_MONITORING=0. It fires only if that thread hangs as well. A timeout given to
// init_process_group(timeout=) replaces the 10 or 30 min if it can be read
// (collectives/torch/meeting_place.h). The timeout of a new_group(timeout=) cannot be read; if a
// job outlives the limit computed here, its real limit differs.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

namespace oddrank::watch {

// Returns zero if no group was seen and the limit is unknown. `backends`: of its process groups,
// "nccl" or "cpu:gloo,cuda:nccl"; `given`: the timeout given to init_process_group, zero if
// unknown; `variable`: reads its environment, "" if not set.
std::chrono::seconds watchdog_limit(std::string_view backends,
                                    std::chrono::seconds given,
                                    const std::function<std::string(const std::string&)>& variable);

}  // namespace oddrank::watch
