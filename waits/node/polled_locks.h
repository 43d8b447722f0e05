// Finds the holder of a file-system lock that a thread polls for (lock_polls.h).
//
// /proc/locks has no row for a thread that only tries. But its process mostly has the file open,
// and /proc/locks says which other process has a lock on that file.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/isolated.h"
#include "snapshot/capture.h"
#include "waits/file_locks.h"

namespace oddrank::waits {

// The file locks of the node, read in the background: reading /proc/locks takes 10 to 20 ms without
// using the CPU, since the first read waits for a grace period of RCU (percpu_down_write,
// fs/locks.c; measured with 6.18).
class HeldLocksReader {
 public:
  HeldLocksReader();
  // Returns the locks; none if they could not be read in a second. Call once.
  std::vector<HeldLock> finish();

 private:
  PendingTask task_;
};

// Turns such waits into waits for a file lock, with path and holder. A holder counts only if it had
// the lock in `before`, too (read before the first sample): locks that come and go hold up no
// process. If several locks fit, no holder is named and the wait stays as it was; but a file that
// exists and is named like a lock is reported even if its maker is unknown. If a lock can be shared
// (SQLite's, for example), the holder is the writer, else the only reader.
//
// Also makes paths of lock files that are known from frames absolute (python/lock_files.h).
//
// Reads from /proc which files the waiting processes have open; for locks without a pid and files
// that are not open here, also which files other processes have open. Stats lock files only on
// local file systems, in a child that has `patience` (base/isolated.h: the caller has one thread
// only). Does nothing if no thread polls.
void name_polled_locks(const std::vector<HeldLock>& before,
                       snapshot::Capture& capture,
                       std::chrono::milliseconds patience = std::chrono::milliseconds{1000});

}  // namespace oddrank::waits
