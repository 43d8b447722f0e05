// Keeps the newest few captures of a folder: names that sort by time, and removal of older files.
#pragma once

#include <chrono>
#include <string>

#include "base/result.h"

namespace oddrank::watch {

// Returns "stall-4711-20261121-140312.500": `name` is the job or host (characters other than
// letters, digits, '.', '-', '_' become '_'). The time is UTC, so that no clock change reverses the
// order.
std::string stall_stem(const std::string& name, std::chrono::system_clock::time_point when);

// Removes FOLDER/stall-NAME-*.{odd,json} except those of the newest `keep` stems. Touches no other
// file. Fails if the folder cannot be listed.
Status keep_newest(const std::string& folder, const std::string& name, std::size_t keep);

// Returns `name` in the form used in file names.
std::string file_word(const std::string& name);

}  // namespace oddrank::watch
