// The user's running jobs, and the only one (`--me`).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/deadline.h"
#include "base/result.h"

namespace oddrank::slurm {

struct OwnJob {
  std::string id;  // for `oddrank job`
  std::string name;
  std::string hosts;  // "n[0-3]"
};

// Parses the output of `squeue -h -o %i|%j|%N`. The parts of a heterogeneous job are one job.
std::vector<OwnJob> parse_own_jobs(std::string_view text);
// Returns the id of the only job. kNotFound: none; kUsage: several, which the hint lists.
Result<std::string> choose_own_job(std::string_view text);

// Returns the running jobs of our user. Errors as in client_error().
Result<std::vector<OwnJob>> own_running_jobs(const Deadline& deadline);
// Returns the only running job of our user. Errors also as in client_error().
Result<std::string> own_running_job(const Deadline& deadline);

}  // namespace oddrank::slurm
