// Derives from a process's variables the files to which PyTorch writes the dump of its flight
// recorder, and the pipes on which it waits for a request. Touches no file.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace oddrank::collectives {

// Value of an environment variable; "" if it is not set.
using Variable = std::function<std::string_view(std::string_view name)>;

// Returns names of dumps, the most likely first: from the variables, then the defaults of all
// versions of PyTorch (up to 2.5 in /tmp; later in the user's cache). A name that is not absolute
// is relative to the process's working directory.
std::vector<std::string> flight_paths(const Variable& variable, std::int32_t rank);

// Returns names of pipes that make a rank write its dump; empty if the job has not enabled them.
std::vector<std::string> flight_pipes(const Variable& variable, std::int32_t rank);

}  // namespace oddrank::collectives
