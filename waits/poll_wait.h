// A thread that waits for one of several files: poll, select, epoll. Which ones they are.
#pragma once

#include "waits/syscall_table.h"
#include "waits/thread_wait.h"
#include "waits/wait_context.h"

namespace oddrank::waits {

// Fills how, on, fd, path and the awaited files of `wait`. One file: as if the thread had read it.
// Several of one kind: that kind. Several kinds: kUnknown. At most 1024 files are looked at, the
// first few are listed.
void read_poll_wait(const WaitContext& context, const SyscallInfo& info, ThreadWait& wait);

}  // namespace oddrank::waits
