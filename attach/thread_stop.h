// Stops threads of a live process for as long as they are read: PTRACE_SEIZE and
// PTRACE_INTERRUPT, which send no signal, never PTRACE_ATTACH.
//
// The effect of a stop (Linux 5 and 6): a running thread continues unaffected. A blocked thread
// wakes up; the kernel then restarts most calls, but epoll_wait, semop, sigtimedwait and receiving
// with a time limit fail with EINTR, which a program may not expect. Hence the last check
// right before each stop.
//
// Not for: choosing the threads that need it (stacks/reading.h).
//
// Checks that a thread's state has not changed, right before it is stopped.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <span>
#include <string>

#include "attach/target.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace oddrank::attach {

// Implements Target::while_stopped. Requests all stops first, then waits for them.
//
// If the stop meets a signal that is on its way to a thread, the thread gets it when it is
// released. A thread that SIGSTOP had stopped stays stopped. All of this runs in a thread of ours
// that exits afterwards: its exit (or our death by any signal) also releases threads that did not
// stop in time (in state D), which cannot be released otherwise.
//
// kUnsupported: no thread of our own could be started.
Result<Stop> stop_threads(pid_t pid,
                          std::span<const ThreadState> threads,
                          std::chrono::milliseconds patience,
                          const std::function<void(std::span<const StopAttempt>)>& look);

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
