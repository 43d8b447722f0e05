// The text of /proc/PID/maps as a MemoryMap.
//
// Reading it takes the target's mmap lock: it can block for a target in state D, and needs the same
// permission as ptrace. It takes 1-2 us for each line.
#pragma once

#include <sys/types.h>

#include <string_view>

#include "attach/memory_map.h"
#include "attach/proc_root.h"
#include "base/result.h"

namespace oddrank::attach {

// Parses the text; leaves out lines that are not a mapping (a cut last line, a future format).
// Paths are shown below `root`.
MemoryMap parse_proc_maps(std::string_view text, const RootPath& root = {});

// Reads and parses it. Fails with the errno's code.
Result<MemoryMap> read_proc_maps(pid_t pid);

// Sets path and `deleted` from the kernel's name of a mapping ("/usr/lib/x.so (deleted)").
void set_mapped_path(std::string_view path, const RootPath& root, Mapping& mapping);

}  // namespace oddrank::attach
