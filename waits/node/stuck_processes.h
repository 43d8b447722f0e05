// Notes processes beside the job that have been in state D for long: a file system or a device of
// the node may not respond, though no rank waits for it yet.
#pragma once

#include <string>
#include <vector>

#include "attach/proc_stat.h"
#include "snapshot/capture.h"

namespace oddrank::waits {

// Returns "pid 77 (dd) has been in state D for 3 min, in nfs_wait_bit_killable; so have 2 more
// processes that are not the job's"; "" if there is none. `sleeping`: the processes of the node in
// state D. Kernel threads do not count, nor do processes of the capture, nor a process that ran
// within the last five seconds, like one that reads from a busy disk. Reads sched and wchan in
// /proc, for at most 300 ms.
std::string stuck_processes_note(const std::vector<attach::ProcStat>& sleeping,
                                 const snapshot::Capture& capture);

// Adds to the notes of each thread of the job in state D how many other processes of the node sleep
// at the same kernel function: a single one waits for a file or device of its own, many wait for
// one server or disk. Does nothing if there are no such threads. Reads /proc/PID/stat and wchan of
// all processes, for at most 300 ms.
void count_uninterruptible(snapshot::Capture& capture);

}  // namespace oddrank::waits
