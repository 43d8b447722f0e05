// Opens files that the user of oddrank names, without ever touching a FIFO or a device. For files
// that a target names, see open_named.h.
#pragma once

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace oddrank::attach {

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
