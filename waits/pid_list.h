// Processes in a note: the first few by number, and how many others there are.
#pragma once

#include <sys/types.h>

#include <span>
#include <string>

namespace oddrank::waits {

// Returns "7, 8", "7, 8, 9, 10 and 160 others".
std::string pid_list(std::span<const pid_t> pids);

}  // namespace oddrank::waits
