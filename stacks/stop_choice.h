// Which threads may be stopped to be read. A stop makes some system calls fail with EINTR that
// would have gone on, which can end or change the very hang that is looked at; those threads are
// never stopped.
//
// Source: signal(7), "Interruption of system calls and library functions by stop signals", and
// Linux 6.18, tried on each call.
#pragma once

#include "attach/target.h"

namespace oddrank::stacks {

// Whether a stop would leave the thread as it is, seen like this: it runs, SIGSTOP has stopped it
// already, or it is blocked in a call that the kernel begins again by itself.
bool may_be_stopped(const attach::ThreadState& thread);

// Whether it is blocked in a call of which that is not known. A thread that was seen so once is
// not to be stopped at its next turn either: it may be about to enter that call again.
bool must_be_spared(const attach::ThreadState& thread);

}  // namespace oddrank::stacks
