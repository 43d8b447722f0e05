// A thread that waits for a child process to end: wait4, waitid, or the vfork of an exec.
#pragma once

#include "waits/syscall_table.h"
#include "waits/thread_wait.h"
#include "waits/wait_context.h"

namespace oddrank::waits {

// Fills on, holder_pid, fd and detail of `wait`. The holder is set only where the call names one
// process and the target's pid namespace is ours (its main thread's tid is the same in both).
void read_child_wait(const WaitContext& context, const SyscallInfo& info, ThreadWait& wait);

}  // namespace oddrank::waits
