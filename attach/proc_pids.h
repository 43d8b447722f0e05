// The processes that /proc shows.
#pragma once

#include <sys/types.h>

#include <vector>

#include "base/result.h"

namespace oddrank::attach {

// Returns all processes of this pid namespace, in the kernel's order (by number); also kernel
// threads, unless they were noted. Some may have exited by now. Fails if /proc is not mounted.
Result<std::vector<pid_t>> list_pids();

// Finds the kernel's threads, to leave them out of all later lists of this process and of the
// children that it forks. A node of a hundred cores has thousands, each of which costs a search of
// all processes 10 us. It does nothing if the kernel does not list its threads
// (CONFIG_PROC_CHILDREN), or if the pid namespace does not show them.
void note_kernel_threads();

}  // namespace oddrank::attach
