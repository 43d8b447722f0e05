// Threads that poll for a lock and sleep in between: the kernel sees only the sleep. The lock is
// read from the calls of their loop (snapshot/loops/python_loop.h) or from their frames.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "snapshot/tables.h"
#include "snapshot/thread_capture.h"

namespace oddrank::waits {

// Which locks may be polled for. Locks of flock() and of fcntl() do not conflict with each other.
struct LockPoll {
  bool flock = false;
  bool posix = false;      // fcntl(F_SETLK) and F_OFD_SETLK
  bool database = false;   // SQLite's, which are locks of fcntl() on certain bytes
  bool existence = false;  // the file's existence is the lock: O_EXCL, mkdir
  // The call may try something other than a file lock: only the name of the file decides.
  bool by_name_only = false;
  std::vector<std::string_view> objects;  // of the loop's calls; borrowed from the tables
};

// Returns nullopt if the thread does not poll for a file-system lock, or its wait is already known.
// Heuristic: the innermost loop may also do something else, so the caller checks that a process has
// such a lock.
std::optional<LockPoll> lock_poll_of(const snapshot::ThreadCapture& thread,
                                     const snapshot::Tables& tables);

// Returns whether a word of the file's name says that it is a lock: "x.lock", ".LOCK_2", "x.lck",
// "x.pid"; not "blocks".
bool is_lock_name(std::string_view path);

}  // namespace oddrank::waits
