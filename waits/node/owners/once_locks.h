// Finds the thread whose initialisation a thread waits for: in pthread_once (std::call_once), or at
// a static variable of a function (C++). Neither stores its owner, but the owner is inside of the
// same first call; it may be the waiting thread itself, in an outer frame.
//
// Sources: glibc's nptl/pthread_once.c; __cxa_guard_acquire of the Itanium C++ ABI, whose caller is
// the function that has the variable.
#pragma once

#include "snapshot/process_capture.h"
#include "snapshot/tables.h"
#include "snapshot/wait.h"

namespace oddrank::waits {

// Sets the kind of such a wait, and its holder as inferred if exactly one thread qualifies. For
// pthread_once, all stacks must be known to their ends, since any first call may be the awaited
// one.
void name_initialiser(const snapshot::ProcessCapture& process,
                      const snapshot::ThreadCapture& thread,
                      const snapshot::Tables& tables,
                      snapshot::Wait& wait);

}  // namespace oddrank::waits
