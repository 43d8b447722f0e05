// Opens the files of a target's modules by their paths, for the naming of frames.
#pragma once

#include <string>

#include "attach/target.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace oddrank::node {

// Opens the file that the target has mapped under that path, as the target sees it, even if it was
// deleted. For "[vdso]" the file holds its image.
Result<UniqueFd> open_module(const attach::Target& target, const std::string& path);

// Opens a file with the dynamic symbols of that module as they are in the target's memory.
Result<UniqueFd> open_module_memory(const attach::Target& target, const std::string& path);

}  // namespace oddrank::node
