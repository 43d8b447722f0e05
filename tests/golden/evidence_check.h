// Checks a verdict against the wait-for graph: everything that it says about waits must be an edge
// or a path there.
#pragma once

#include <string>
#include <vector>

#include "aggregate/diagnosis.h"
#include "aggregate/view/job_view.h"

namespace oddrank::tests {

// Returns what the verdict says that the graph does not show; empty if there is nothing.
std::vector<std::string> unproven(const aggregate::JobView& view,
                                  const aggregate::Verdict& verdict);

}  // namespace oddrank::tests
