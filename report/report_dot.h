// The wait-for graph and the tree of stacks, for Graphviz.
#pragma once

#include <string>

#include "aggregate/diagnosis.h"
#include "aggregate/view/job_view.h"

namespace oddrank::report {

// Returns one digraph with two clusters. Ranks at the same place are one node of the wait-for
// graph, the root has a thick border, and groups are folded as in the other reports. `report` is of
// the same capture.
std::string report_dot(const aggregate::Diagnosis& report, const aggregate::JobView& view);

}  // namespace oddrank::report
