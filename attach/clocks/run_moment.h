// When a thread last ran, by the clock of the CPU that it ran on.
#pragma once

#include <chrono>

namespace oddrank::attach {

struct RunMoment {
  std::chrono::microseconds now{0};       // CLOCK_MONOTONIC, when the rest was read
  std::chrono::microseconds last_run{0};  // by the CPU's own clock (run_clock.h)
  int cpu = -1;                           // where it last ran; -1 if unknown
};

// Returns CLOCK_MONOTONIC.
inline std::chrono::microseconds monotonic_now() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::steady_clock::now().time_since_epoch());
}

}  // namespace oddrank::attach
