// Finds the processes that ranks have started since discovery. A capture that goes on until the
// waits are old takes ten seconds; by then, a rank that makes a pool of workers for each step has
// other children, and waits for them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "snapshot/capture.h"

namespace oddrank::ranks {

inline constexpr std::size_t kMaxNewProcesses = 4096;

// Appends a row (read = kNone) for each process that began at `since_us` (of CLOCK_BOOTTIME, when
// discover() was called) or later below one of the capture's, with the number and job of its rank,
// as discover() does. Our own processes get none. Returns how many were added.
//
// Precondition: one thread (it forks). Takes a few milliseconds if there are none.
std::size_t add_new_processes(snapshot::Capture& capture, std::uint64_t since_us);

}  // namespace oddrank::ranks
