// Inlined functions and source lines for the native frames of a capture, from DWARF: for those who
// ask for it (--inlines). After names (symbolize.h), and after all that compares stacks.
#pragma once

#include <functional>

#include "elf/module_files.h"
#include "snapshot/capture.h"

namespace oddrank::elf {

// Puts a frame (FrameFlag::kInlined) in front of each native frame for every function that was
// inlined where it stands, gives both their place in the source, and a name to frames that have
// none. The DWARF is the module's own or that of its separate debug file; a file of another build
// is not believed. Small files first; when `out_of_time` says so, the rest is left as it is and
// false comes back. May block, and may crash on a damaged file: call it in a child with a deadline
// (base/isolated.h).
bool add_inlined_frames(snapshot::Capture& capture,
                        const ModuleFiles& files,
                        const std::function<bool()>& out_of_time);

}  // namespace oddrank::elf
