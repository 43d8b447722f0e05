// What SLURM thinks of nodes that did not answer: down, not responding, drained.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/deadline.h"

namespace oddrank::slurm {

// "n2|allocated*|none" lines of `sinfo -h -N -o %N|%T|%E` -> host to words such as "down (bad
// memory)" or "not responding". Nodes that are as they should be are left out.
std::map<std::string, std::string> parse_node_states(std::string_view text);

// Asks sinfo; empty where it does not answer. For at most 200 nodes, the rest is left out.
std::map<std::string, std::string> node_states(const std::vector<std::string>& hosts,
                                               const Deadline& deadline);

}  // namespace oddrank::slurm
