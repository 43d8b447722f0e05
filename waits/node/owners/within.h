// A lock that stores no owner is had by the thread that is within what takes it, if only one is.
// Private to waits/.
#pragma once

#include <sys/types.h>

#include <vector>

#include "snapshot/process_capture.h"
#include "snapshot/tables.h"
#include "snapshot/wait.h"

namespace oddrank::waits {

// Returns whether the stacks of all threads are known to their ends: none can be within it unseen.
bool has_whole_stacks(const snapshot::ProcessCapture& process, const snapshot::Tables& tables);

// Sets the only one of these threads of the process as the holder, as inferred. Does nothing if
// there are several, or none.
void set_only_within(const std::vector<pid_t>& within, pid_t process, snapshot::Wait& wait);

}  // namespace oddrank::waits
