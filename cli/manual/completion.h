// Completion scripts for shells, made from the command line's own definitions.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/manual/command_tree.h"

namespace oddrank::cli {

// Values that only the program can list; the scripts run `oddrank complete jobs` for them.
inline constexpr const char* kCompleteJobs = "jobs";
inline constexpr const char* kCompleteRanks = "ranks";

// Returns the script for `shell`: "bash", "zsh" or "fish". kUsage: another shell.
Result<std::string> completion_script(const CommandTree& tree, const std::string& shell);

}  // namespace oddrank::cli
