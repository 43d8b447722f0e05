// Reads how long the threads of a process have not run, before any of them is stopped: a stop wakes
// a sleeping thread, and the kernel then shows that it ran a moment ago.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>

#include "snapshot/process_capture.h"

namespace oddrank::waits {

using QuietTimes = std::map<pid_t, std::chrono::milliseconds>;  // by tid; only known ones

// Reads /proc. Call before the process's stacks are read.
QuietTimes read_quiet_times(pid_t pid);

// Corrects Wait::quiet_ms of the threads that were stopped to be read (ThreadSample::stopped), from
// the times read before. A thread that ran gets none. Call after collect_waits.
void keep_quiet_times(const QuietTimes& before, snapshot::ProcessCapture& process);

}  // namespace oddrank::waits
