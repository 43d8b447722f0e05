// Counts the other processes of a node that sleep in state D at the same kernel function as a
// thread of the job: a single one waits for a file or device of its own, many wait for one server
// or disk.
#pragma once

#include "snapshot/capture.h"

namespace oddrank::waits {

// Adds that count to the notes of the threads in state D; does nothing if there are none. Reads
// /proc/PID/stat and wchan of all processes, for at most 300 ms.
void count_uninterruptible(snapshot::Capture& capture);

}  // namespace oddrank::waits
