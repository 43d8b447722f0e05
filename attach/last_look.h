// Whether a thread is still as it was seen, asked right before it is stopped.
#pragma once

#include <sys/types.h>

#include <string>

#include "attach/target.h"
#include "base/unique_fd.h"

namespace oddrank::attach {

class LastLook {
 public:
  LastLook() = default;

  // Opens the thread's file beforehand: others are held already when the look is taken.
  void prepare(pid_t pid, pid_t tid);

  // kHeld: it may be stopped: one that ran still runs (or runs now: then its state is set to R),
  // one that was blocked is in the same call. kSpared: it is in another. kGone and kRefused: with
  // `why`.
  StopEnd take(pid_t pid, ThreadState& seen, std::string& why);

 private:
  UniqueFd file_;  // /proc/PID/task/TID/syscall
};

// State letter of a thread; 'X' if it ended.
char state_letter(pid_t pid, pid_t tid);

}  // namespace oddrank::attach
