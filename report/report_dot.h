// The wait-for graph and the tree of stacks, for Graphviz.
#pragma once

#include <string>

#include "aggregate/view/job_view.h"
#include "snapshot/capture.h"

namespace oddrank::report {

// Returns one digraph with two clusters. Ranks at the same place are one node of the wait-for
// graph.
std::string report_dot(const aggregate::JobView& view);
std::string report_dot(const snapshot::Capture& capture);

}  // namespace oddrank::report
