// Paths and users in advice. A command may be pasted by root, in another mount namespace, and long
// after the report: by then the owner of a folder may have replaced the path by a link. So a
// command that changes something runs as the user of the rank, and the path of a rank with mounts
// of its own goes through its root folder.
#pragma once

#include <string>
#include <string_view>

#include "aggregate/view/job_view.h"
#include "snapshot/process_capture.h"

namespace oddrank::aggregate {

// Returns the path, quoted for a shell on the rank's host: "/data/x", or "/proc/71/root/data/x" if
// the process (the rank, or one below it) has mounts of its own.
std::string advised_path(const JobView& view,
                         const snapshot::ProcessCapture& process,
                         std::string_view path);

// Returns "sudo -u ada " (or "-u '#1001'"), for the user of the rank; "as the rank's user, not as
// root: " if unknown.
std::string as_its_user(const JobView& view, const snapshot::ProcessCapture& process);

}  // namespace oddrank::aggregate
