// A thread that sleeps on a futex: what kind of lock it is, and who owns it where that can be told.
#pragma once

#include "waits/thread_wait.h"
#include "waits/wait_context.h"

namespace oddrank::waits {

// Fills how, on, address, holder and lock of `wait`.
//
// The owner is known for the locks that carry it (native_lock.h). Semaphores, condition variables,
// barriers and most of Python's locks have none in memory. An owner that is no thread of this
// process is reported as one that is gone, unless the lock is shared by processes and the owner is
// found among them.
void read_futex_wait(const WaitContext& context, ThreadWait& wait);

}  // namespace oddrank::waits
