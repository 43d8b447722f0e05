// Files that a user names as dumps: as they are, all files of a folder, or a pattern that the shell
// has not expanded.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace oddrank::node {

// What is not there is kept, so that reading it says so. Sorted within a folder.
std::vector<std::string> expand_files(const std::vector<std::string>& arguments);

// Microseconds of CLOCK_REALTIME; 0 if it cannot be told.
std::uint64_t written_us(const std::string& path);

}  // namespace oddrank::node
