// Finds the holder of the C library's allocator lock. The lock stores no owner, but its owner is
// inside the allocator: if all stacks of the process are known, the owner is the only thread there
// that does not wait for the lock. Usually a signal interrupted the thread there, and its handler
// does not return; or the handler itself allocates memory, and the thread waits for itself.
#pragma once

#include "snapshot/process_capture.h"
#include "snapshot/tables.h"
#include "snapshot/wait.h"

namespace oddrank::waits {

// Sets the holder, as inferred, of a wait for the allocator's lock (found by native_lock_names.h).
// Leaves other waits alone, and does nothing if a stack is not known to its end, or if several
// threads qualify. The wait belongs to the process.
void name_allocator_owner(const snapshot::ProcessCapture& process,
                          const snapshot::Tables& tables,
                          snapshot::Wait& wait);

}  // namespace oddrank::waits
