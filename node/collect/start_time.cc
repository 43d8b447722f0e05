#include "node/collect/start_time.h"

#include "base/clock_us.h"

namespace oddrank::node {

std::uint64_t realtime_us() {
  return clock_us(CLOCK_REALTIME);
}

std::uint64_t began_us(const snapshot::ProcessCapture& process) {
  return realtime_us() - clock_us(CLOCK_BOOTTIME) + process.start_us;
}

}  // namespace oddrank::node
