// Finds the processes that hold the lock for which a thread is blocked in flock() or fcntl().
//
// Such a lock always has a holder: the kernel releases it when the last process closes the file
// that it was taken through. The kernel's table names only the process that took it, which may have
// exited and left the open file to a child.
#pragma once

#include <chrono>

#include "snapshot/capture.h"

namespace oddrank::waits {

// For each wait for a lock of an open file (flock, or fcntl's OFD locks), makes a process that has
// this file open the holder: the one that took the lock if it is among them, else one of the
// capture, else the one with the lowest pid. If none is found, the holder is unknown, never gone.
// Reads the descriptors of all processes in a child that has `patience` (base/isolated.h: the
// caller has one thread only).
void name_lock_holders(snapshot::Capture& capture,
                       std::chrono::milliseconds patience = std::chrono::milliseconds{1000});

}  // namespace oddrank::waits
