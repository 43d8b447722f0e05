// Opens the file behind a mapping of a live process, as that process sees it.
#pragma once

#include <sys/types.h>

#include "attach/memory_map.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace oddrank::attach {

// Tries /proc/PID/map_files first: the file itself, even if it was deleted or is in another mount
// namespace (needs CAP_CHECKPOINT_RESTORE); the process could open it when it mapped it. Then opens
// the path with the process's rights (open_named.h). Fails with kNotFound if the mapping has no
// file ("[heap]"), with kUnsupported if it is not a regular file.
Result<UniqueFd> open_mapped(pid_t pid, const Mapping& mapping);

}  // namespace oddrank::attach
