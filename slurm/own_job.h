// "My job": the one that is running, for those who do not know its number by heart.
#pragma once

#include <string>
#include <string_view>

#include "base/deadline.h"
#include "base/result.h"

namespace oddrank::slurm {

// Output of `squeue -h -o %A|%j|%N` -> the job's id. kNotFound: none; kUsage: several, which the
// hint lists.
Result<std::string> choose_own_job(std::string_view text);

// The only running job of our user. Errors also as of client_error().
Result<std::string> own_running_job(const Deadline& deadline);

}  // namespace oddrank::slurm
