// Describes what a thread did between its samples, if its wait does not show it: it computes, it
// keeps the CPU busy at one place, or it repeatedly sleeps and wakes to check something.
//
// Reads how long threads have not run before they are stopped: a stop wakes a sleeping thread, and
// the kernel then shows that it ran a moment ago.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <span>
#include <string>

#include "attach/target.h"
#include "snapshot/process_capture.h"
#include "snapshot/tables.h"
#include "snapshot/thread_capture.h"

namespace oddrank::waits {

// Returns "used 480 ms of CPU in the same functions: it spins, or works at one place"; "used 480 ms
// of CPU, its stack moved: it works"; "was put aside 4000 times in the same functions: it spins,
// while others want the CPU"; "woke 9 times in the same functions: it polls". "" for a thread that
// did not move, that waits for something known, or that has only one sample.
std::string motion_words(const snapshot::ThreadCapture& thread, const snapshot::Tables& tables);

using QuietTimes = std::map<pid_t, std::chrono::milliseconds>;  // by tid; only known ones

// Reads /proc. Call right before these threads of the process are stopped.
QuietTimes read_quiet_times(pid_t pid, std::span<const attach::ThreadState> threads);

// Corrects Wait::quiet_ms of the threads that were stopped to be read (ThreadSample::stopped), from
// the times read before. A thread that ran gets none. Call after collect_waits.
void keep_quiet_times(const QuietTimes& before, snapshot::ProcessCapture& process);

}  // namespace oddrank::waits
