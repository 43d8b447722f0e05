// Notes processes beside the job that have been in state D for long: a file system or a device of
// the node may not respond, though no rank waits for it yet.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/deadline.h"
#include "snapshot/capture.h"

namespace oddrank::waits {

// The processes of the node that were in state D at some time before.
struct SleepersInD {
  std::vector<pid_t> pids;
  Deadline::Clock::time_point seen;
};

// Returns "pid 77 (dd) has been in state D for 3 min, in nfs_wait_bit_killable; so have 2 more
// processes that are not the job's"; "" if there is none. Kernel threads do not count, nor does a
// process that ran within the last five seconds, as one that reads from a busy disk does. So if
// `before` is of these, only those are looked at. Reads stat, sched and wchan in /proc, for at most
// 300 ms.
std::string stuck_processes_note(const snapshot::Capture& capture, const SleepersInD& before);

}  // namespace oddrank::waits
