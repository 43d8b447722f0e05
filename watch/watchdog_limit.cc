#include "watch/watchdog_limit.h"

#include <algorithm>

#include "base/parse_number.h"

namespace oddrank::watch {
namespace {

using std::chrono::seconds;

constexpr seconds kNccl{600};
constexpr seconds kOthers{1800};
constexpr seconds kHeartbeat{480};

}  // namespace

seconds watchdog_limit(std::string_view backends,
                       seconds given,
                       const std::function<std::string(const std::string&)>& variable) {
  const bool known = given > seconds(0);
  if (backends.find("nccl") == std::string_view::npos) {
    const bool fires = backends.find("gloo") != std::string_view::npos;
    return !fires ? seconds(0) : known ? given : kOthers;
  }
  const seconds of_calls = known ? given : kNccl;
  if (variable("TORCH_NCCL_ENABLE_MONITORING") == "0") {
    return of_calls;
  }
  const auto set = parse_number<int>(variable("TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC"));
  return std::min(of_calls, set && *set > 0 ? seconds(*set) : kHeartbeat);
}

}  // namespace oddrank::watch
