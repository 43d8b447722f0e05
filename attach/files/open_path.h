// Finds a file below a root folder as a process with that root folder would, and opens it only if
// it is a regular file. An O_PATH descriptor, which touches neither a device nor a FIFO, holds what
// was found, and that very file is opened afterwards: it cannot be replaced in between.
//
// Opens files that the user of oddrank names, without ever touching a FIFO or a device. For files
// that a target names, see open_named.h.
#pragma once

#include <string>

#include "attach/files/open_as.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace oddrank::attach {

// Whether a symbolic link at the end of the path is followed. Links before it always are; but no
// link leads out of the root folder, and links of /proc/PID/fd and the like are never followed.
enum class LastLink : bool { kRefused, kFollowed };

// Finds a file of any type, a link itself if it is not followed. `root`: a folder's descriptor;
// `path`: with or without a first slash. Errors: the errno's code.
Result<UniqueFd> find_below(const UniqueFd& root, const std::string& path, LastLink last);

// Does the same step by step. find_below() calls it if the kernel has no openat2(2) (before 5.6, or
// filtered).
Result<UniqueFd> walk_below(const UniqueFd& root, const std::string& path, LastLink last);

// Opens for reading what was found, with our present rights. kUnsupported: it is not a regular
// file, or the kernel's own (/proc, /sys), whose contents depend on the reader. `path`: for the
// message.
Result<UniqueFd> open_found(const UniqueFd& found, const std::string& path);

// Finds and opens a file with the given rights.
Result<UniqueFd> open_below_as(const UniqueFd& root,
                               const std::string& path,
                               LastLink last,
                               const Rights& rights);

// Opens a file for reading, with our own rights. Fails with kUnsupported if it is not a regular
// file, else with the errno's code; the text names the path.
Result<UniqueFd> open_regular(const std::string& path);

// Opens `path` below the folder `root` that the user names: symbolic links are resolved within that
// root, not against our own.
Result<UniqueFd> open_regular_below(const std::string& root, const std::string& path);

// Opens a file that was found in a folder or by a pattern, so that the user may not have named it.
// If we are root, opens it with the rights of the owner of the file, or of the link to it: users
// must not be able to show us files that they may not read themselves.
Result<UniqueFd> open_found_file(const std::string& path);

}  // namespace oddrank::attach
