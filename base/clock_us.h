// Reads a clock of the kernel.
#pragma once

#include <cstdint>
#include <ctime>

namespace oddrank {

// Returns the time of a clock of clock_gettime(2) in microseconds. Start times of processes
// (/proc/PID/stat) use CLOCK_BOOTTIME, also within a time namespace.
inline std::uint64_t clock_us(clockid_t clock) {
  timespec now{};
  if (::clock_gettime(clock, &now) != 0) {
    return 0;
  }
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec) / 1000;
}

// Returns the time of CLOCK_REALTIME, which file times have, at a moment after the boot.
inline std::uint64_t realtime_at(std::uint64_t since_boot_us) {
  return clock_us(CLOCK_REALTIME) - clock_us(CLOCK_BOOTTIME) + since_boot_us;
}

}  // namespace oddrank
