// The time now and when a process began, by the clock that files have their times from.
#pragma once

#include <cstdint>

#include "snapshot/process_capture.h"

namespace oddrank::node {

// Both are CLOCK_REALTIME in microseconds.
std::uint64_t realtime_us();
// ProcessCapture::start_us counts from the boot.
std::uint64_t began_us(const snapshot::ProcessCapture& process);

}  // namespace oddrank::node
