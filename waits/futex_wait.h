// A thread that sleeps on a futex: what kind of lock it is, and who owns it where that can be told.
#pragma once

#include "waits/thread_wait.h"

namespace oddrank::waits {

// Fills on, address, holder and detail of `wait`.
//
// The owner is known for a contended pthread mutex of glibc (its structure carries the owner's tid)
// and for priority-inheriting locks (the word is the owner's tid). Semaphores, condition variables
// and Python's locks have no owner in memory. An owner is believed only if it is a thread of this
// process; one that is not is reported as a lock that nobody here can release.
void read_futex_wait(const WaitContext& context, ThreadWait& wait);

}  // namespace oddrank::waits
