// The processes that /proc shows.
//
// Whether /proc shows the processes of this node at all.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
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

// Returns why processes may not be seen here, as a clause ("/proc hides the processes of other
// users: it is mounted with hidepid=2"); "" if /proc shows all of its pid namespace to us.
std::string hidden_processes();

// Returns the same from the text of /proc/self/mountinfo. `privileged`: nothing is hidden from us
// (proc(5): CAP_SYS_PTRACE). hidepid=1 hides no pids: see hidden_contents().
std::string hidden_processes(std::string_view mountinfo, bool privileged);

// Return the same with hidepid=1 as well, which shows that another user's process exists, but not
// even its name, so that ranks are not found.
std::string hidden_contents();
std::string hidden_contents(std::string_view mountinfo, bool privileged);

}  // namespace oddrank::attach
