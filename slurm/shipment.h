// Copies this program to the nodes of a job that lack it, and says why that fails.
//
// With sbcast, not with srun --bcast: if a folder does not exist on a node, or is full, the latter
// leaves a step without tasks behind, which SLURM lists until the job ends (22.05), and gives its
// reason away. sbcast copies to all nodes of the job, so whoever calls it must have the copy
// removed where no agent starts that deletes it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/deadline.h"
#include "base/result.h"
#include "slurm/job.h"
#include "slurm/launch.h"

namespace oddrank::slurm {

// Copies `program` to `path` on all nodes of the job. The error says on which nodes it failed and
// why; nothing is left there.
Status send_program(const Job& job,
                    const std::string& program,
                    const std::string& path,
                    const Deadline& deadline);

// Runs steps of rm side by side, and returns when they have ended, after three seconds at most.
void run_removals(const std::vector<AgentStep>& steps);

// Returns "n[0-1]: No such file or directory" from what sbcast has written, "" if it says nothing
// of a node.
std::string sbcast_complaint(std::string_view said);

}  // namespace oddrank::slurm
