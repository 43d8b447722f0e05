// Paths and users in advice. The person that pastes a command may be root, in another mount
// namespace, and later than the report: the owner of a folder may have put a link in the path's
// place by then. So a command that changes something runs as the user of the rank, and a path of a
// rank with mounts of its own goes through its root folder.
#pragma once

#include <string>
#include <string_view>

#include "aggregate/view/job_view.h"
#include "snapshot/process_capture.h"

namespace oddrank::aggregate {

// Returns the path as a word of a shell on the rank's host: "/data/x", or "/proc/71/root/data/x" if
// the process (the rank, or one below it) sees mounts of its own.
std::string advised_path(const JobView& view,
                         const snapshot::ProcessCapture& process,
                         std::string_view path);

// Returns "sudo -u ada " (or "-u '#1001'"), the user of the rank; "as the rank's user, not as root:
// " if that is not known.
std::string as_its_user(const JobView& view, const snapshot::ProcessCapture& process);

}  // namespace oddrank::aggregate
