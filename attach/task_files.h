// The files of a process's threads in /proc/PID/task, for repeated reads with few system calls: the
// folder stays open as long as the object, and so do two files of each of the first threads.
//
// The schedstat of a thread shows whether it has run: for how long, and how often it got a CPU. It
// costs a seventh of the status, which has the counts of context switches.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <string>
#include <unordered_map>

#include "attach/target.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace oddrank::attach {

class TaskFiles {
 public:
  // Opens the folder; if that fails, reading says why.
  explicit TaskFiles(pid_t pid);

  // Reads a thread; fields that may not be read stay empty. Fails with kGone if it has exited.
  Result<ThreadState> state(pid_t tid);
  // Reads only what shows whether the thread has moved since state() (Target::motion).
  Result<ThreadState> motion(pid_t tid);

 private:
  // What state() found, for comparison.
  struct Seen {
    ThreadState state;
    std::string ran;  // its schedstat, read before anything else; "" if it is of no use
    UniqueFd ran_file;
    UniqueFd call_file;
  };

  Result<std::string> read(pid_t tid, const char* file, std::size_t limit) const;
  UniqueFd open(pid_t tid, const char* file) const;
  // Fills in fields from its sched and status.
  void read_counters(ThreadState& state);
  // Returns what the thread does now, if it has not run since it was seen; nullopt if it may have.
  std::optional<ThreadState> unmoved(const Seen& seen, pid_t tid) const;

  pid_t pid_;
  UniqueFd folder_;
  std::size_t files_left_;  // that may still be kept open
  // Whether the main thread is not traced, and has the same number in all pid namespaces.
  bool plain_ = false;
  std::unordered_map<pid_t, Seen> seen_;
};

}  // namespace oddrank::attach
