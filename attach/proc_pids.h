// The processes that /proc shows.
#pragma once

#include <sys/types.h>

#include <vector>

#include "base/result.h"

namespace oddrank::attach {

// Returns all of this pid namespace, kernel threads too, in the kernel's order (by number). Some
// may have exited by now. Fails if /proc is not mounted.
Result<std::vector<pid_t>> list_pids();

}  // namespace oddrank::attach
