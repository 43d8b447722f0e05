// Reads how long threads have not run before they are stopped: a stop wakes a sleeping thread, and
// the kernel then shows that it ran a moment ago.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <span>

#include "attach/target.h"
#include "snapshot/process_capture.h"

namespace oddrank::waits {

using QuietTimes = std::map<pid_t, std::chrono::milliseconds>;  // by tid; only known ones

// Reads /proc. Call right before these threads of the process are stopped.
QuietTimes read_quiet_times(pid_t pid, std::span<const attach::ThreadState> threads);

// Corrects Wait::quiet_ms of the threads that were stopped to be read (ThreadSample::stopped), from
// the times read before. A thread that ran gets none. Call after collect_waits.
void keep_quiet_times(const QuietTimes& before, snapshot::ProcessCapture& process);

}  // namespace oddrank::waits
