// Where PyTorch writes the dump of a rank's flight recorder, and where it waits to be asked for
// one: names of files, from the variables that a process was started with. Touches no file.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace oddrank::collectives {

// Value of an environment variable; "" if it is not set.
using Variable = std::function<std::string_view(std::string_view name)>;

// Names of dumps, the most likely first: what the variables say, then the defaults of all versions
// of PyTorch (up to 2.5 in /tmp; later in the user's cache). A name that is not absolute is meant
// from the process's working directory.
std::vector<std::string> flight_paths(const Variable& variable, std::int32_t rank);

// Names of pipes that make a rank write its dump; empty if none was asked for.
std::vector<std::string> flight_pipes(const Variable& variable, std::int32_t rank);

}  // namespace oddrank::collectives
