// Reads the wait of a thread that sleeps on a futex: the kind of lock, and its owner if known.
#pragma once

#include "waits/thread_wait.h"

namespace oddrank::waits {

// Fills how, on, address, holder and lock of `wait`.
//
// The owner is known for locks that store it (native_lock.h). Semaphores, condition variables,
// barriers and most of Python's locks store no owner. If the owner is not a thread of this process,
// it is reported as gone, unless processes share the lock and the owner is found among them.
void read_futex_wait(const WaitContext& context, ThreadWait& wait);

}  // namespace oddrank::waits
