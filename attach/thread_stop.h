// Stops threads of a live process for as long as they are read: PTRACE_SEIZE and
// PTRACE_INTERRUPT, which send no signal, never PTRACE_ATTACH.
//
// What a stop does to a thread (Linux 5 and 6): one that runs goes on as if nothing had happened.
// One that is blocked wakes up; the kernel then restarts most calls, but epoll_wait, semop,
// sigtimedwait and receiving with a time limit fail with EINTR, which a program may not expect.
// Hence the last look (last_look.h) right before each stop.
//
// Not for: finding out which threads need it (stacks/stop_choice.h).
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <span>

#include "attach/target.h"
#include "base/result.h"

namespace oddrank::attach {

// As Target::while_stopped says. All are requested first, then waited for.
//
// A thread that met a signal when it stopped gets that signal when it is let go. One that was
// stopped by SIGSTOP stays so. All of this happens in a thread of ours that ends with it: its end
// lets go also of those threads that did not stop in time, which cannot be let go otherwise (a
// thread in state D). So does our death, by whatever signal.
//
// kUnsupported: no thread of our own could be started.
Result<Stop> stop_threads(pid_t pid,
                          std::span<const ThreadState> threads,
                          std::chrono::milliseconds patience,
                          const std::function<void(std::span<const StopAttempt>)>& look);

}  // namespace oddrank::attach
