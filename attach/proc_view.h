// Whether /proc shows the processes of this node at all.
#pragma once

#include <string>
#include <string_view>

namespace oddrank::attach {

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
