// The names of native frames, and on demand what was inlined into them: steps of a capture that
// read files, after the processes were let go.
#pragma once

#include <chrono>

#include "elf/module_files.h"
#include "snapshot/capture.h"

namespace oddrank::node {

// Both run in a child with a deadline, since symbol files lie on file systems that may hang. What
// could not be done becomes a note of the capture's first node. Precondition: one thread (they
// fork).
void name_in_child(snapshot::Capture& capture);
// For the last step of a capture: inlined frames are for people, and must not change what frames
// are recognised by. At most `patience`.
void add_inlines_in_child(snapshot::Capture& capture, std::chrono::milliseconds patience);

// The same for processes that do not live (of core files), with their modules from `files`. Debug
// files that are not there are looked for on this machine.
void name_in_child(snapshot::Capture& capture, const elf::ModuleFiles& files);
void add_inlines_in_child(snapshot::Capture& capture,
                          std::chrono::milliseconds patience,
                          const elf::ModuleFiles& files);

}  // namespace oddrank::node
