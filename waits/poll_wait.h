// Finds the files of a thread that waits for one of several: poll, select, epoll.
#pragma once

#include "waits/syscall_table.h"
#include "waits/thread_wait.h"

namespace oddrank::waits {

// Fills how, on, fd, path and the awaited files of `wait`. One file is treated as if the thread
// read it. Several of one kind set that kind, several kinds set kUnknown. Reads at most 1024 files
// and lists the first few.
void read_poll_wait(const WaitContext& context, const SyscallInfo& info, ThreadWait& wait);

}  // namespace oddrank::waits
