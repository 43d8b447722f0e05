#include "slurm/watchdog_limit.h"

#include <algorithm>

#include "base/parse_number.h"

namespace oddrank::slurm {
namespace {

using std::chrono::seconds;

constexpr seconds kNccl{600};
constexpr seconds kOthers{1800};
constexpr seconds kHeartbeat{480};

}  // namespace

seconds watchdog_limit(std::string_view backends,
                       const std::function<std::string(const std::string&)>& variable) {
  if (backends.find("nccl") == std::string_view::npos) {
    return backends.find("gloo") == std::string_view::npos ? seconds(0) : kOthers;
  }
  if (variable("TORCH_NCCL_ENABLE_MONITORING") == "0") {
    return kNccl;
  }
  const auto set = parse_number<int>(variable("TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC"));
  return std::min(kNccl, set && *set > 0 ? seconds(*set) : kHeartbeat);
}

}  // namespace oddrank::slurm
