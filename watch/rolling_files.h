// The newest few captures of a folder: names that sort by time, and removal of what is older.
#pragma once

#include <chrono>
#include <string>

#include "base/result.h"

namespace oddrank::watch {

// "stall-4711-20261121-140312.500": `name` tells whose it is (job or host; other characters than
// letters, digits, '.', '-', '_' become '_'). UTC, so that no clock change turns the order round.
std::string stall_stem(const std::string& name, std::chrono::system_clock::time_point when);

// Removes FOLDER/stall-NAME-*.{odd,json} but for those of the newest `keep` stems. Nothing else is
// touched. Fails if the folder cannot be listed.
Status keep_newest(const std::string& folder, const std::string& name, std::size_t keep);

// `name` as it stands in the names of files.
std::string file_word(const std::string& name);

}  // namespace oddrank::watch
