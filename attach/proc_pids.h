// The processes that /proc shows.
#pragma once

#include <sys/types.h>

#include <vector>

#include "base/result.h"

namespace oddrank::attach {

// All of this pid namespace, kernel threads too, in the order of the kernel (by number). Some may
// have ended when the list is looked at. An Error if /proc is not mounted.
Result<std::vector<pid_t>> list_pids();

}  // namespace oddrank::attach
