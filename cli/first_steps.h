// The text that oddrank prints if it is called without a command.
#pragma once

#include <string>

namespace oddrank::cli {

// Returns commands that the user could type (for the job that this shell is in, else for their
// running jobs, and for the ranks of this node), and where the help is. Asks SLURM, if there is
// one; takes some seconds at most.
std::string first_steps();

}  // namespace oddrank::cli
