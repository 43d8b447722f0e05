// Now, and the start of a process, by the clock of file times.
#pragma once

#include <cstdint>

#include "snapshot/process_capture.h"

namespace oddrank::node {

// Returns CLOCK_REALTIME in microseconds.
std::uint64_t realtime_us();
// Returns the same clock's time when the process began (ProcessCapture::start_us counts from the
// boot).
std::uint64_t began_us(const snapshot::ProcessCapture& process);

}  // namespace oddrank::node
