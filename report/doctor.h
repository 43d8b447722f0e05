// The report of `oddrank doctor`: what it found on each node (snapshot/node_health.h), worst first.
#pragma once

#include <string>
#include <vector>

#include "report/text_options.h"
#include "snapshot/node_health.h"

namespace oddrank::report {

// Worst first: not reached, then by the number of noes, then in the order given.
void sort_worst_first(std::vector<snapshot::NodeHealth>& nodes);

// A line for each node (nodes that are alike share one beyond a screenful), the remedies of each no
// and off below it, once.
std::string doctor_text(const std::vector<snapshot::NodeHealth>& nodes, const TextOptions& options);
std::string doctor_json(const std::vector<snapshot::NodeHealth>& nodes);

}  // namespace oddrank::report
