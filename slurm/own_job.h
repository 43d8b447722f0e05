// Finds the user's only running job (`--me`).
#pragma once

#include <string>
#include <string_view>

#include "base/deadline.h"
#include "base/result.h"

namespace oddrank::slurm {

// Parses the output of `squeue -h -o %A|%j|%N`. Returns the job's id. kNotFound: none; kUsage:
// several, which the hint lists.
Result<std::string> choose_own_job(std::string_view text);

// Returns the only running job of our user. Errors also as in client_error().
Result<std::string> own_running_job(const Deadline& deadline);

}  // namespace oddrank::slurm
