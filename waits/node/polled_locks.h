// Who has the lock of the file system that a thread tries for again and again (lock_polls.h).
//
// The kernel has no row for a thread that only tries. But the thread's process mostly has the file
// open, and /proc/locks says which other process has a lock on that file.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "snapshot/capture.h"
#include "waits/file_locks.h"

namespace oddrank::waits {

// Reads /proc/locks; empty if that is not possible.
std::vector<HeldLock> read_held_locks();

// Makes such waits ones for a file lock, with path and holder. A holder counts only if it had the
// lock in `before`, too (read_held_locks before the first sample): locks that come and go hold
// nobody up. Several locks of which each could be meant name nobody, and the wait stays as it was;
// but a file that is there and is called a lock is named also if it is unknown who made it. For a
// lock of SQLite, and others that can be shared, the holder is the one that writes, else the only
// reader.
//
// Makes the paths of lock files absolute that are known from frames, too (python/lock_files.h).
//
// Reads the files of the waiting processes from /proc; those of others only for locks without a
// process and files that are not open here. Stats lock files only on local file systems, in a child
// that has `patience` (base/isolated.h: the caller has one thread only). Does nothing if no thread
// polls.
void name_polled_locks(const std::vector<HeldLock>& before,
                       snapshot::Capture& capture,
                       std::chrono::milliseconds patience = std::chrono::milliseconds{1000});

}  // namespace oddrank::waits
