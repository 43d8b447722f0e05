// Explains after a gathering why nodes did not answer, from the messages of srun, the agents and
// SLURM.
//
// SLURM's state of nodes that did not answer: down, not responding, drained.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

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

// Parses "n2|allocated*|none" lines of `sinfo -h -N -o %N|%T|%E`. Returns, for each host that is
// not healthy, words such as "down (bad memory)" or "not responding".
std::map<std::string, std::string> parse_node_states(std::string_view text);

// Queries sinfo for at most 200 nodes; the rest is left out. Empty if it does not answer.
std::map<std::string, std::string> node_states(const std::vector<std::string>& hosts,
                                               const Deadline& deadline);

}  // namespace oddrank::slurm
