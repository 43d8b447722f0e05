// Finds files for naming: the modules of a capture's processes, and their debug files. A file is
// used only if its build id is the frame's.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"

namespace oddrank::elf {

// Opens a module of a process of the capture, as that process sees it. For "[vdso]", returns a file
// that holds its image.
using OpenModule = std::function<Result<UniqueFd>(pid_t pid, const std::string& path)>;
// Opens the separate debug file of a build id, for a process that has mapped the module.
using OpenDebugFile = std::function<Result<UniqueFd>(pid_t pid, const std::string& build_id)>;
// Cython generates up to 20 MB of C for a module.
inline constexpr std::size_t kMaxSourceFile = std::size_t{64} << 20;
// Reads a source file that the debug information of a module names, as that process sees it; at
// most kMaxSourceFile bytes.
using ReadSource = std::function<Result<std::string>(pid_t pid, const std::string& path)>;

struct ModuleFiles {
  OpenModule module;
  // Returns a file with the module's non-code segments from the memory of the process, each at its
  // file offset: for a module whose file is gone or was replaced. May be empty.
  OpenModule memory;
  // If empty, only this node's files are used, see open_debug_file.
  OpenDebugFile debug;
  // May be empty.
  ReadSource source = {};
};

// Returns "/usr/lib/debug/.build-id/ab/cdef01.debug"; empty if `build_id` is not a build id.
std::string debug_file_path(std::string_view build_id);

// Opens that file on this node.
Result<UniqueFd> open_debug_file(std::string_view build_id);

}  // namespace oddrank::elf
