// The hosts that a user names: "n0,n2", "n[0-3,7]", "eve@n1", or "@file" with some on each line.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace oddrank::cli {

// Returns each host once, in the order of first mention. In a file, '#' begins a comment,
// and numbers of slots (MPI's hostfiles) count for nothing. Errors: kNotFound and kPermission (the
// file), kUsage (no host, or text that is not a list of hosts).
Result<std::vector<std::string>> read_host_list(const std::vector<std::string>& words);

}  // namespace oddrank::cli
