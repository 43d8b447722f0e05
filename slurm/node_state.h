// SLURM's state of nodes that did not answer: down, not responding, drained.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/deadline.h"

namespace oddrank::slurm {

// Parses "n2|allocated*|none" lines of `sinfo -h -N -o %N|%T|%E`. Returns, for each host that is
// not healthy, words such as "down (bad memory)" or "not responding".
std::map<std::string, std::string> parse_node_states(std::string_view text);

// Queries sinfo for at most 200 nodes; the rest is left out. Empty if it does not answer.
std::map<std::string, std::string> node_states(const std::vector<std::string>& hosts,
                                               const Deadline& deadline);

}  // namespace oddrank::slurm
