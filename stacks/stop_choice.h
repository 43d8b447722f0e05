// Decides which threads may be stopped to be read. A stop makes some system calls fail with EINTR,
// which can end or change the diagnosed hang; threads in such calls are never stopped.
//
// Source: signal(7), "Interruption of system calls and library functions by stop signals", and
// Linux 6.18, tried on each call.
#pragma once

#include "attach/target.h"

namespace oddrank::stacks {

// Returns whether a stop does not affect the thread: it runs, SIGSTOP has already stopped it, or it
// is blocked in a call that the kernel restarts.
bool may_be_stopped(const attach::ThreadState& thread);

// Returns whether it is blocked in a call that the kernel is not known to restart. A thread seen in
// such a call must not be stopped at the next attempt either: it may be about to enter that call
// again.
bool must_be_spared(const attach::ThreadState& thread);

}  // namespace oddrank::stacks
