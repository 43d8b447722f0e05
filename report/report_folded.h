// Folded stacks for flame graphs: "outermost;...;innermost COUNT", one line for each place, with
// the number of ranks there.
#pragma once

#include <string>

#include "aggregate/view/job_view.h"

namespace oddrank::report {

std::string report_folded(const aggregate::JobView& view);

}  // namespace oddrank::report
