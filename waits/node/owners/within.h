// Owners of locks that store none: the only thread inside the code that takes the lock. Private to
// waits/.
#pragma once

#include <sys/types.h>

#include <vector>

#include "snapshot/process_capture.h"
#include "snapshot/tables.h"
#include "snapshot/wait.h"

namespace oddrank::waits {

// Returns whether the stacks of all threads are known to their ends, so that no thread can be
// inside unseen.
bool has_whole_stacks(const snapshot::ProcessCapture& process, const snapshot::Tables& tables);

// Makes the thread in `within` the holder, as inferred; does nothing if there are several, or none.
void set_only_within(const std::vector<pid_t>& within, pid_t process, snapshot::Wait& wait);

}  // namespace oddrank::waits
