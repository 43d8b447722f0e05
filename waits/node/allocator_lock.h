// Who has the lock of the C library's allocator. It has no owner in memory. But whoever has it is
// inside of the allocator: of a process whose stacks are all known, the only thread that is there
// and does not merely wait. Mostly a signal came while it was there, and its handler does not
// return; or the handler itself wants memory, and the thread waits for itself.
#pragma once

#include "snapshot/process_capture.h"
#include "snapshot/tables.h"
#include "snapshot/wait.h"

namespace oddrank::waits {

// Sets the holder of a wait that native_lock_names.h has found to be for the allocator's lock, as
// inferred. Does nothing to other waits, nor where a stack is not known to its end, or several
// threads could be meant. The wait is one of the process's.
void name_allocator_owner(const snapshot::ProcessCapture& process,
                          const snapshot::Tables& tables,
                          snapshot::Wait& wait);

}  // namespace oddrank::waits
