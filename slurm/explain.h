// Says, after a gathering, why nodes gave no answer: from what each srun, the agents and SLURM
// itself said of them.
#pragma once

#include "base/deadline.h"
#include "reach/wire/answers.h"
#include "slurm/attempt.h"

namespace oddrank::slurm {

// Fills in what the agents wrote and why nodes did not answer, and adds notes. `began`: when the
// gathering did. Asks sinfo, unless the user has interrupted it.
void explain_nodes(reach::GatherResult& result,
                   const Attempts& attempts,
                   const reach::AgentOptions& options,
                   Deadline::Clock::time_point began);

}  // namespace oddrank::slurm
