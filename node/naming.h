// The names of native frames, and on demand what was inlined into them: steps of a capture that
// read files, after all processes were read.
#pragma once

#include <chrono>

#include "elf/module_files.h"
#include "snapshot/capture.h"

namespace oddrank::node {

// Names the native frames. This and add_inlines_in_child() run in a child with a deadline, since a
// file system with symbol files may hang. What could not be done becomes a note of the capture's
// first node. Precondition: one thread (they fork).
void name_in_child(snapshot::Capture& capture);
// Adds inlined frames, in at most `patience`. The last step of a capture: inlined frames are for
// people, and calls and waits are not recognised by them.
void add_inlines_in_child(snapshot::Capture& capture, std::chrono::milliseconds patience);

// Do the same for the processes of core files, whose modules come from `files`. Debug files that
// are not there are searched for on this machine.
void name_in_child(snapshot::Capture& capture, const elf::ModuleFiles& files);
void add_inlines_in_child(snapshot::Capture& capture,
                          std::chrono::milliseconds patience,
                          const elf::ModuleFiles& files);

}  // namespace oddrank::node
