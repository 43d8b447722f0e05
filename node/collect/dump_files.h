// Expands the files that a user names as dumps: single files, all files of a folder, or a pattern
// that the shell has not expanded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace oddrank::node {

// Returns the files, sorted within a folder. Keeps names that do not exist, so that reading them
// reports it.
std::vector<std::string> expand_files(const std::vector<std::string>& arguments);

struct FoundFile {
  std::string bytes;
  std::uint64_t written_us = 0;
};

// Reads a file that was found in a folder or by a pattern (attach/files/open_path.h), at most
// `limit` bytes. kUnsupported: it is not a regular file.
Result<FoundFile> read_found_file(const std::string& path, std::size_t limit);

// Returns when the file was written, in microseconds of CLOCK_REALTIME; 0 if that is unknown.
std::uint64_t written_us(const UniqueFd& file);

}  // namespace oddrank::node
