// How long a job may be quiet before its own watchdog ends it.
//
// PyTorch's defaults: 10 min for a collective of NCCL, 30 min for all others (constants.py,
// default_pg_nccl_timeout and default_pg_timeout); the monitor of NCCL's watchdog thread ends the
// process after TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC, 480 unless set (ProcessGroupNCCL.hpp), unless
// TORCH_NCCL_ENABLE_MONITORING=0. What a program gives to init_process_group(timeout=) is in memory
// that is not read: a job that has outlived the default shows by that that it has another.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

namespace oddrank::slurm {

// `backends`: of its process groups, "nccl" or "cpu:gloo,cuda:nccl"; `variable`: of its
// environment,
// "" if not set. Zero: unknown, no group was seen.
std::chrono::seconds watchdog_limit(std::string_view backends,
                                    const std::function<std::string(const std::string&)>& variable);

}  // namespace oddrank::slurm
