// Where the naming of frames finds files: the modules of the processes of a capture, and the debug
// files that belong to them. Whatever is opened is believed only if its build id is the frame's.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"

namespace oddrank::elf {

// Opens a module of a process of the capture, as that process sees it. For "[vdso]", a file that
// holds its image.
using OpenModule = std::function<Result<UniqueFd>(pid_t pid, const std::string& path)>;
// Opens the separate debug file of a build id, for a process that has mapped the module.
using OpenDebugFile = std::function<Result<UniqueFd>(pid_t pid, const std::string& build_id)>;

struct ModuleFiles {
  OpenModule module;
  // A file with what lies in the memory of the process of the module's segments without code, each
  // at its place in the file: for a module whose file is gone or is another one by now. May be
  // empty.
  OpenModule memory;
  // May be empty: then files of this node only, see open_debug_file.
  OpenDebugFile debug;
};

// "/usr/lib/debug/.build-id/ab/cdef01.debug"; empty where `build_id` is no build id.
std::string debug_file_path(std::string_view build_id);

// That file of this node's own root folder.
Result<UniqueFd> open_debug_file(std::string_view build_id);

}  // namespace oddrank::elf
