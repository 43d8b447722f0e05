// Takes a capture by running one of our programs, so that a failure there cannot harm the watch.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "base/programs/child_command.h"
#include "base/result.h"

namespace oddrank::watch {

// Runs the programs one after the other until `file` exists, each for at most `patience`. `wait`
// waits briefly for output of the running program and does other pending work; if it returns false,
// the program is stopped and no other is run (kGone). Returns "" if the first program succeeded, or
// its complaint if a later one did. If all fail, returns the first one's error.
Result<std::string> take_capture(const std::vector<std::vector<std::string>>& programs,
                                 const std::string& file,
                                 std::chrono::milliseconds patience,
                                 const std::function<bool(const ChildCommand&)>& wait);

}  // namespace oddrank::watch
