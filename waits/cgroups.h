// Finds the cgroups of a process, and whether the freezer has frozen it. (The place where a thread
// sleeps shows the freezer of version 2, if the kernel tells it: snapshot/freezer.h.)
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

namespace oddrank::waits {

// Returns the folder of a process's cgroup: in the version 1 hierarchy that has the controller,
// else in version 2's. `cgroups` is the text of /proc/PID/cgroup (cgroups(7)), `mountinfo`
// describes the reader's own mounts. "" if it is in neither, or in a part that is not mounted here.
std::string cgroup_folder(std::string_view cgroups,
                          std::string_view mountinfo,
                          std::string_view controller);

// Reads the freezer's state of the cgroup of a live process, which includes the cgroups above it:
// "THAWED", "FREEZING", "FROZEN"; "" if there is no such file. Reads only kernel files.
std::string freezer_state(pid_t pid);

// Returns the same from the text of version 2's cgroup.events.
std::string state_of_events(std::string_view events);

}  // namespace oddrank::waits
