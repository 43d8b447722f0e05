// Expands the files that a user names as dumps: single files, all files of a folder, or a pattern
// that the shell has not expanded.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace oddrank::node {

// Returns the files, sorted within a folder. Keeps names that do not exist, so that reading them
// reports it.
std::vector<std::string> expand_files(const std::vector<std::string>& arguments);

// Returns when the file was written, in microseconds of CLOCK_REALTIME; 0 if that is unknown.
std::uint64_t written_us(const std::string& path);

}  // namespace oddrank::node
