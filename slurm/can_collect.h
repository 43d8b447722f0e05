// Whether agents can be started in a job now; if not, the reason and a remedy.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "slurm/job.h"

namespace oddrank::slurm {

// Checks that `uid` can start agents in the job. Errors: kNotFound (pending), kGone (ended or
// ending), kUnsupported (suspended), kPermission (another user's job: SLURM refuses even root).
Status can_collect(const Job& job, std::int64_t uid);

}  // namespace oddrank::slurm
