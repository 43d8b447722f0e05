// Inlined functions and source lines for the native frames of a capture, from DWARF: on request
// only (--inlines). Call after names (symbolize.h), and after everything that compares stacks.
#pragma once

#include <functional>

#include "elf/module_files.h"
#include "snapshot/capture.h"

namespace oddrank::elf {

// Puts a frame (FrameFlag::kInlined) in front of each native frame for every function that was
// inlined at its address. Gives both their place in the source, and names frames that have no name.
// Reads the DWARF of the module itself or of its separate debug file, never of another build.
// Begins with small files; once `out_of_time` returns true, leaves the rest as it is and returns
// false. May block, and may crash on a damaged file: call it in a child with a deadline
// (base/isolated.h).
bool add_inlined_frames(snapshot::Capture& capture,
                        const ModuleFiles& files,
                        const std::function<bool()>& out_of_time);

}  // namespace oddrank::elf
