// Folded stacks for flame graphs: "outermost;...;innermost COUNT", one line for each place, with
// the number of ranks there.
#pragma once

#include <string>

#include "aggregate/view/job_view.h"

namespace oddrank::report {

// Returns all lines; the innermost part of each is the ranks there, "[ranks 0-4,6-7]".
std::string report_folded(const aggregate::JobView& view);

}  // namespace oddrank::report
