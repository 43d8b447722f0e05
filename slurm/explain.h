// Explains after a gathering why nodes did not answer, from the messages of srun, the agents and
// SLURM.
#pragma once

#include "base/deadline.h"
#include "reach/wire/answers.h"
#include "slurm/attempt.h"

namespace oddrank::slurm {

// Fills in the agents' messages and why nodes did not answer, and adds notes. `began`: the start of
// the gathering. Asks sinfo, unless the user has interrupted it.
void explain_nodes(reach::GatherResult& result,
                   const Attempts& attempts,
                   const reach::AgentOptions& options,
                   Deadline::Clock::time_point began);

}  // namespace oddrank::slurm
