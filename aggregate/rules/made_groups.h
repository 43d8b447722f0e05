// Ranks that make groups together, and count them differently.
#pragma once

#include <vector>

#include "aggregate/rules/rule.h"

namespace oddrank::aggregate {

// Finds ranks of which the groups have other members than those of the others under the same
// numbers, or other numbers: torch numbers groups by how often the process has called new_group(),
// and members meet under that number. So they have called it more or less often, or in another
// order (torch/distributed/distributed_c10d.py, _process_group_name; groups with
// use_local_synchronization have hashes for names).
std::vector<Finding> made_another(const RuleInput& input);

}  // namespace oddrank::aggregate
