// Checks that a thread's state has not changed, right before it is stopped.
#pragma once

#include <sys/types.h>

#include <string>

#include "attach/target.h"
#include "base/unique_fd.h"

namespace oddrank::attach {

class StateCheck {
 public:
  StateCheck() = default;

  // Opens the thread's file beforehand, since other threads are already held when it is read.
  void prepare(pid_t pid, pid_t tid);

  // Returns kHeld if the thread may be stopped: it runs (then its state is set to R), or it was
  // blocked and is in the same call. kSpared: it is in another call. kGone and kRefused come with
  // `why`.
  StopEnd take(pid_t pid, ThreadState& seen, std::string& why);

 private:
  UniqueFd file_;  // /proc/PID/task/TID/syscall
};

// Returns the state letter of a thread; 'X' if it has exited.
char state_letter(pid_t pid, pid_t tid);

}  // namespace oddrank::attach
