// Opens the file behind a mapping of a live process, as that process sees it.
#pragma once

#include <sys/types.h>

#include "attach/memory_map.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace oddrank::attach {

// Tries first /proc/PID/map_files: the file itself, which the process could open when it mapped it,
// even if it was deleted since or lies in another mount namespace (needs CAP_CHECKPOINT_RESTORE).
// Then the path, as the process (open_named.h). Fails with kNotFound if the mapping has no file
// ("[heap]"), with kUnsupported if it is not a regular file.
Result<UniqueFd> open_mapped(pid_t pid, const Mapping& mapping);

}  // namespace oddrank::attach
