// How many other processes of a node sleep where a thread of the job does, in state D: one means a
// file or device of its own, many mean a server or a disk that all of them wait for.
#pragma once

#include "snapshot/capture.h"

namespace oddrank::waits {

// Adds that to the details of the threads in state D; does nothing if there are none. Reads
// /proc/PID/stat and wchan of all processes, for no longer than a moment.
void count_uninterruptible(snapshot::Capture& capture);

}  // namespace oddrank::waits
