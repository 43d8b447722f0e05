// The table of rules. To add one: a file rules/<kind>.cc with one function, a line here, a line in
// the table, tests (CONTRIBUTING.md).
#pragma once

#include <span>

#include "aggregate/rules/rule.h"

namespace oddrank::aggregate {

std::vector<Finding> healthy(const RuleInput& input);
std::vector<Finding> slow(const RuleInput& input);
std::vector<Finding> missing_rank(const RuleInput& input);
std::vector<Finding> stopped_rank(const RuleInput& input);
std::vector<Finding> skipped_collective(const RuleInput& input);
std::vector<Finding> mismatched_collective(const RuleInput& input);
std::vector<Finding> order_cycle(const RuleInput& input);  // collective_order, p2p_order
std::vector<Finding> input_stall(const RuleInput& input);
std::vector<Finding> child_deadlock(const RuleInput& input);
std::vector<Finding> io_stall(const RuleInput& input);
std::vector<Finding> file_lock(const RuleInput& input);
std::vector<Finding> lock_deadlock(const RuleInput& input);  // gil_deadlock as well
std::vector<Finding> rendezvous(const RuleInput& input);
std::vector<Finding> external_wait(const RuleInput& input);
std::vector<Finding> failed_rank(const RuleInput& input);
std::vector<Finding> device_stall(const RuleInput& input);
std::vector<Finding> busy_rank(const RuleInput& input);
std::vector<Finding> below_host(const RuleInput& input);
std::vector<Finding> recorded(const RuleInput& input);  // kinds that flight recorders tell
std::vector<Finding> unknown(const RuleInput& input);   // always one

std::span<const Rule> all_rules();

}  // namespace oddrank::aggregate
