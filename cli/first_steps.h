// The output of oddrank without a command.
#pragma once

#include <string>

namespace oddrank::cli {

// Returns commands that the user could type (for this shell's job, else for the user's running
// jobs, and for the ranks of this node), and where the help is. Asks SLURM, if present; takes some
// seconds at most.
std::string first_steps();

}  // namespace oddrank::cli
