// What oddrank answers if it is called without a command.
#pragma once

#include <string>

namespace oddrank::cli {

// Returns what the user could type: for the job that this shell is in, else for his running jobs,
// and for the ranks of this node; and where the help is. Asks SLURM, if there is one, for some
// seconds at most.
std::string first_steps();

}  // namespace oddrank::cli
