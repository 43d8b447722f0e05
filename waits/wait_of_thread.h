// Reads what one thread is blocked on, from its process and the kernel.
#pragma once

#include "waits/thread_wait.h"

namespace oddrank::waits {

// Reads /proc's facts of the thread, follows the arguments of its system call into the target's
// memory and files. Never fails: unknown parts stay unknown, with a detail that says why.
ThreadWait wait_of_thread(const WaitContext& context);

}  // namespace oddrank::waits
