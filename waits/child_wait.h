// Reads the wait of a thread for a child process to exit: wait4, waitid, or vfork before an exec.
#pragma once

#include "waits/syscall_table.h"
#include "waits/thread_wait.h"

namespace oddrank::waits {

// Fills on, holder_pid, fd and detail of `wait`. Sets the holder only if the call names one process
// and the target's pid namespace is ours (its main thread's tid is the same in both).
void read_child_wait(const WaitContext& context, const SyscallInfo& info, ThreadWait& wait);

}  // namespace oddrank::waits
