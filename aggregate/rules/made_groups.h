// Ranks that make a group together, and count it differently.
#pragma once

#include <vector>

#include "aggregate/rules/rule.h"

namespace oddrank::aggregate {

// Finds a rank that makes a group of the same ranks as the others, under another number: torch
// numbers groups by how many the process has made, and members meet under that number. So it has
// made one more or one less (torch/distributed/distributed_c10d.py, _process_group_name; groups
// with use_local_synchronization have hashes for names).
std::vector<Finding> made_another(const RuleInput& input);

}  // namespace oddrank::aggregate
