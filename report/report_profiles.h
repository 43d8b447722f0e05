// Folded stacks for flame graphs: "outermost;...;innermost COUNT", one line for each place, with
// the number of ranks there.
//
// The stacks of all ranks in the file format of speedscope (a viewer of profiles in a browser): one
// profile with a sample for each place, whose weight is the number of ranks there.
#pragma once

#include <string>

#include "aggregate/view/job_view.h"

namespace oddrank::report {

// Returns all lines; the innermost part of each is the ranks there, "[ranks 0-4,6-7]".
std::string report_folded(const aggregate::JobView& view);

// Returns the JSON text of the file.
std::string report_speedscope(const aggregate::JobView& view);

}  // namespace oddrank::report
