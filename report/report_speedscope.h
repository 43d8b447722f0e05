// The stacks of all ranks in the file format of speedscope (a viewer of profiles in a browser): one
// profile with a sample for each place, whose weight is the number of ranks there.
#pragma once

#include <string>

#include "aggregate/view/job_view.h"

namespace oddrank::report {

// Returns the JSON text of the file.
std::string report_speedscope(const aggregate::JobView& view);

}  // namespace oddrank::report
