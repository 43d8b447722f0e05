// Where the cgroups of a process are to be found, and whether the freezer of version 1 keeps it
// still. (That of version 2 shows in where a thread sleeps: snapshot/freezer.h.)
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

namespace oddrank::waits {

// The folder of the cgroup that a process is in: that of the hierarchy of version 1 which has the
// controller, else that of version 2. `cgroups` is the text of /proc/PID/cgroup (cgroups(7)),
// `mountinfo` that of the reader's own mounts. "" if it is in neither, or outside of what we see.
std::string cgroup_folder(std::string_view cgroups,
                          std::string_view mountinfo,
                          std::string_view controller);

// What freezer.state of version 1 says of the cgroup of a live process, those above it included:
// "THAWED", "FREEZING", "FROZEN"; "" where there is no such file. Reads files of the kernel's only.
std::string freezer_state(pid_t pid);

}  // namespace oddrank::waits
