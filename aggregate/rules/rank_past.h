// What is known of a rank that has no process any more: whether it was there, and how it ended.
#pragma once

#include <string>

#include "aggregate/view/job_view.h"

namespace oddrank::aggregate {

// Returns whether a rank without a process had come: another rank has a default group with it that
// connects all members when it is made. Gloo does (docs/collectives.md; not with
// TORCH_GLOO_LAZY_INIT). A group of NCCL alone shows nothing: it exists before the others have
// come.
bool was_there(const JobView& view, const RankView& rank);

// Returns "has ended: "Exited with exit code 3", says srun", from the job's output; "" if that says
// nothing. Only words: the output may be another attempt's, so it decides no kind.
// The tasks of the step must be the ranks, and it must be the first step of a job that was not
// requeued.
std::string ended_by_srun(const JobView& view, const RankView& rank);

}  // namespace oddrank::aggregate
