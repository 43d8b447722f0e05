// Searches /proc for the process that has the lock that another one polls for.
//
// The polling process mostly has the file open; then /proc/locks says which process has a lock on
// that file. If it opens the file anew for each try, the name is read from the loop's calls.
#pragma once

#include <sys/types.h>

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "snapshot/capture.h"
#include "waits/file_locks.h"
#include "waits/node/lock_polls.h"

namespace oddrank::waits {

struct FoundLock {
  pid_t holder = 0;        // 0: unknown, which occurs only with `existence`
  std::string path;        // empty: several files, which one process has locked
  bool existence = false;  // the file's existence is the lock
};

// Borrows the capture. Reads links and fdinfo, and stats lock files: for a child that may hang.
class LockSearch {
 public:
  // `held`: the locks that count.
  LockSearch(const snapshot::Capture& capture, std::vector<HeldLock> held);

  // Returns nullopt if no process could have the lock, or several could.
  std::optional<FoundLock> find(const snapshot::ProcessCapture& process, const LockPoll& poll);

 private:
  // A lock that the thread may poll for.
  struct Candidate {
    pid_t holder = 0;
    bool writes = false;
    std::string path;
  };

  static std::optional<FoundLock> only_holder(std::vector<Candidate> candidates);
  std::vector<Candidate> among_open_files(const LockPoll& poll, const std::set<std::string>& names);
  // Finds locks on files that the thread opens and closes again between its tries.
  std::vector<Candidate> among_named_files(const LockPoll& poll,
                                           const std::set<std::string>& names);
  std::optional<FoundLock> named_lock_file(const std::set<std::string>& names);

  // Calls `visit` with each file of this path that another process has open.
  template <typename Visit>
  void visit_openers(const std::string& path, bool outside, const Visit& visit) const;

  // Returns the process that has the lock, unless it is the waiting one; nullopt if that is
  // unknown.
  std::optional<pid_t> holder_of(const HeldLock& lock, const std::string& path) const;

  std::set<std::string> resolve(const std::vector<std::string_view>& objects) const;

  const snapshot::Capture& capture_;
  std::vector<HeldLock> held_;
  pid_t pid_ = 0;  // of the process that waits
  std::string mountinfo_;
};

// Returns the path in the form of the links of open files, resolved from the process's working
// folder; "" if that fails.
std::string absolute_path(pid_t pid, std::string_view path);

}  // namespace oddrank::waits
