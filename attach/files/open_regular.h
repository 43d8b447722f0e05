// Opens files that the user of oddrank names, so that neither a FIFO nor a device is ever touched.
// What a target names is opened by open_named.h.
#pragma once

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace oddrank::attach {

// Opens a file for reading, with our own rights. Fails with kUnsupported if it is not a regular
// file, else with the errno's code; the text names the path.
Result<UniqueFd> open_regular(const std::string& path);

// Opens `path` below the folder `root` that the user names: symbolic links on the way are resolved
// as a process with that root would, not against our own.
Result<UniqueFd> open_regular_below(const std::string& root, const std::string& path);

// Opens a file that was found in a folder or by a pattern: the user named the place, but maybe not
// the file. If we are root, it is opened with the rights of the user who put it there, or who put
// the link there that leads to it, so that nobody can show us a file that he may not read himself.
Result<UniqueFd> open_found_file(const std::string& path);

}  // namespace oddrank::attach
