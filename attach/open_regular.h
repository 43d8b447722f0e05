// Opens files whose names come from a target, so that neither a FIFO nor a device is ever touched.
#pragma once

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace oddrank::attach {

// Opens a file for reading. Fails with kUnsupported if it is not a regular file, else with the
// errno's code; the text names the path.
Result<UniqueFd> open_regular(const std::string& path);

// Opens `path` below the folder `root`: symbolic links on the way are resolved as a process with
// that root would, not against our own.
Result<UniqueFd> open_regular_below(const std::string& root, const std::string& path);

}  // namespace oddrank::attach
