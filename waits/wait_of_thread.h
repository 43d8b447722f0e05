// What one thread is blocked on, as its process and the kernel tell it.
#pragma once

#include "waits/thread_wait.h"
#include "waits/wait_context.h"

namespace oddrank::waits {

// Reads /proc's facts of the thread, follows the arguments of its system call into the target's
// memory and files. Never fails: what is not known stays unknown, with a detail that says why.
ThreadWait wait_of_thread(const WaitContext& context);

}  // namespace oddrank::waits
