// Where the cgroups of a process are, and whether the freezer of version 1 has frozen it. (The
// freezer of version 2 shows in where a thread sleeps: snapshot/freezer.h.)
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

namespace oddrank::waits {

// Returns the folder of the cgroup that a process is in: in the hierarchy of version 1 that has the
// controller, else in that of version 2. `cgroups` is the text of /proc/PID/cgroup (cgroups(7)),
// `mountinfo` that of the reader's own mounts. "" if it is in neither, or in a part that is not
// mounted here.
std::string cgroup_folder(std::string_view cgroups,
                          std::string_view mountinfo,
                          std::string_view controller);

// Reads freezer.state of version 1 for the cgroup of a live process, which includes the cgroups
// above it: "THAWED", "FREEZING", "FROZEN"; "" if there is no such file. Reads only files of the
// kernel.
std::string freezer_state(pid_t pid);

}  // namespace oddrank::waits
