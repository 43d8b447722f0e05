// The report of `oddrank doctor`: the findings on each node (snapshot/node_health.h), worst first.
#pragma once

#include <string>
#include <vector>

#include "report/text_options.h"
#include "snapshot/node_health.h"

namespace oddrank::report {

// Sorts nodes worst first: not reached, then by the number of failed checks, then in the given
// order.
void sort_worst_first(std::vector<snapshot::NodeHealth>& nodes);

// Prints a line for each node (equal nodes share one beyond a screenful), then each remedy once.
std::string doctor_text(const std::vector<snapshot::NodeHealth>& nodes, const TextOptions& options);
// Returns the same for programs, as JSON with all nodes.
std::string doctor_json(const std::vector<snapshot::NodeHealth>& nodes);

}  // namespace oddrank::report
