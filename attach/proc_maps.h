// The text of /proc/PID/maps as a MemoryMap.
//
// Reading it takes the target's mmap lock: it can block for a target in state D, and needs the same
// right as ptrace. 1-2 us a line.
#pragma once

#include <sys/types.h>

#include <string_view>

#include "attach/memory_map.h"
#include "base/result.h"

namespace oddrank::attach {

// Lines that are no mapping are left out (a cut last line, a format of the future).
MemoryMap parse_proc_maps(std::string_view text);

Result<MemoryMap> read_proc_maps(pid_t pid);

// The name of a mapping as the kernel tells it ("/usr/lib/x.so (deleted)") as its path and whether
// that was deleted.
void set_mapped_path(std::string_view path, Mapping& mapping);

}  // namespace oddrank::attach
