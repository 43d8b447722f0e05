// Finds the thread whose initialisation a thread waits for: in pthread_once (std::call_once), or at
// a static variable of a function (C++). Neither stores its owner, but the owner is inside of the
// same first call; it may be the waiting thread itself, in an outer frame.
//
// Sources: glibc's nptl/pthread_once.c; __cxa_guard_acquire of the Itanium C++ ABI, whose caller is
// the function that has the variable.
//
// Finds the holder of the C library's allocator lock. The lock stores no owner, but its owner is
// inside the allocator: if all stacks of the process are known, the owner is the only thread there
// that does not wait for the lock. Usually a signal interrupted the thread there, and its handler
// does not return; or the handler itself allocates memory, and the thread waits for itself.
//
// Owners of locks that store none: the only thread inside the code that takes the lock. Private to
// waits/.
#pragma once

#include <sys/types.h>

#include <vector>

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

// Sets the holder, as inferred, of a wait for the allocator's lock (found by native_lock.h).
// Leaves other waits alone, and does nothing if a stack is not known to its end, or if several
// threads qualify. The wait belongs to the process.
void name_allocator_owner(const snapshot::ProcessCapture& process,
                          const snapshot::Tables& tables,
                          snapshot::Wait& wait);

// Returns whether the stacks of all threads are known to their ends, so that no thread can be
// inside unseen.
bool has_whole_stacks(const snapshot::ProcessCapture& process, const snapshot::Tables& tables);

// Makes the thread in `within` the holder, as inferred; does nothing if there are several, or none.
void set_only_within(const std::vector<pid_t>& within, pid_t process, snapshot::Wait& wait);

}  // namespace oddrank::waits
