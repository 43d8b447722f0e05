#include "node/sources/start_time.h"

#include <time.h>

namespace oddrank::node {
namespace {

std::uint64_t clock_us(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec) / 1000;
}

}  // namespace

std::uint64_t realtime_us() {
  return clock_us(CLOCK_REALTIME);
}

std::uint64_t began_us(const snapshot::ProcessCapture& process) {
  return realtime_us() - clock_us(CLOCK_BOOTTIME) + process.start_us;
}

}  // namespace oddrank::node
