// Inlined functions and source lines for the native frames of a capture, from DWARF: only on
// request (--inlines). Call after names (symbolize.h), and after everything that compares stacks.
#pragma once

#include <functional>

#include "elf/module_files.h"
#include "snapshot/capture.h"

namespace oddrank::elf {

// For every function inlined at the address of a native frame, inserts a frame
// (FrameFlag::kInlined) before it. Sets the source places of both, and names frames that have no
// name. Reads the DWARF of the module itself or of its separate debug file, never of another build.
// Begins with small files; once `out_of_time` returns true, leaves the rest as it is and returns
// false. May block, and may crash on a damaged file: call it in a child with a deadline
// (base/isolated.h).
bool add_inlined_frames(snapshot::Capture& capture,
                        const ModuleFiles& files,
                        const std::function<bool()>& out_of_time);

}  // namespace oddrank::elf
