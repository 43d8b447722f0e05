// How long a job may be quiet before its own watchdog ends it.
//
// PyTorch's defaults: 10 min for a collective of NCCL, 30 min for all others (constants.py,
// default_pg_nccl_timeout and default_pg_timeout); the monitor of NCCL's watchdog thread ends the
// process after TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC, 480 unless set (ProcessGroupNCCL.hpp), unless
// TORCH_NCCL_ENABLE_MONITORING=0: it comes only where that thread hangs as well, but then it does.
// What a program gives to init_process_group(timeout=) stands in place of the 10 or 30 min where it
// can be read (collectives/store_timeout.h). That of a single new_group(timeout=) cannot; a job
// that has outlived what is known here shows by that that it has another.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

namespace oddrank::watch {

// `backends`: of its process groups, "nccl" or "cpu:gloo,cuda:nccl"; `given`: to
// init_process_group, zero if unknown; `variable`: of its environment, "" if not set. Zero:
// unknown, no group was seen.
std::chrono::seconds watchdog_limit(std::string_view backends,
                                    std::chrono::seconds given,
                                    const std::function<std::string(const std::string&)>& variable);

}  // namespace oddrank::watch
