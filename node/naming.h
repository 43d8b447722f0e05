// Adds names of native frames and, on request, inlined functions: steps of a capture that read
// files, after all processes have been read.
#pragma once

#include <chrono>
#include <string>

#include "elf/module_files.h"
#include "node/files/silent_files.h"
#include "snapshot/capture.h"

namespace oddrank::node {

// Names the native frames; those of `silent` processes by what is in memory. This and
// add_inlines_in_child() run in a child with a deadline, since a file system with symbol files may
// hang. Failures become a note of the capture's first node. Precondition: one thread (they fork).
// `with_recorders`: searches for recorders (collect/recorder_variables.h) in the files it reads,
// and returns what it found there; else "".
std::string name_in_child(snapshot::Capture& capture,
                          const SilentProcesses& silent = {},
                          bool with_recorders = false);
// Adds inlined frames, in at most `patience`. The last step of a capture: inlined frames are for
// people; calls and waits are not recognised from them.
void add_inlines_in_child(snapshot::Capture& capture, std::chrono::milliseconds patience);

// Do the same for the processes of core files, whose modules come from `files`. Missing debug files
// are searched for on this machine.
void name_in_child(snapshot::Capture& capture, const elf::ModuleFiles& files);
void add_inlines_in_child(snapshot::Capture& capture,
                          std::chrono::milliseconds patience,
                          const elf::ModuleFiles& files);

}  // namespace oddrank::node
