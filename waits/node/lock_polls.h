// Threads that try for a lock again and again and rest in between: the kernel sees them sleep. What
// they try is read out of the calls of their loop (snapshot/python_loop.h) or their frames.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "snapshot/tables.h"
#include "snapshot/thread_capture.h"

namespace oddrank::waits {

// What is tried. Locks of flock() and of fcntl() do not know of each other.
struct LockPoll {
  bool flock = false;
  bool posix = false;      // fcntl(F_SETLK) and F_OFD_SETLK
  bool database = false;   // SQLite's, which are locks of fcntl() on certain bytes
  bool existence = false;  // the lock is that the file is there: O_EXCL, mkdir
  // What is tried may be another thing than a lock on a file: only the name of the file tells.
  bool by_name_only = false;
  std::vector<std::string_view> objects;  // of the loop's calls; borrowed from the tables
};

// Returns nullopt if the thread does not poll for a lock of the file system, or waits for something
// that is known. Heuristic, as the innermost loop may also do what it has no call for; so the
// caller checks that somebody has such a lock. A call that is not known may be work: then it is no
// poll.
std::optional<LockPoll> lock_poll_of(const snapshot::ThreadCapture& thread,
                                     const snapshot::Tables& tables);

// Returns whether a word of the file's name says that it is a lock: "x.lock", ".LOCK_2", "x.lck",
// "x.pid"; not "blocks".
bool is_lock_name(std::string_view path);

}  // namespace oddrank::waits
