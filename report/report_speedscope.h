// The stacks of all ranks in the file format of speedscope (a viewer of profiles in a browser): one
// profile with a sample for each place, whose weight is the number of ranks there.
#pragma once

#include <string>

#include "aggregate/view/job_view.h"
#include "snapshot/capture.h"

namespace oddrank::report {

std::string report_speedscope(const aggregate::JobView& view);
std::string report_speedscope(const snapshot::Capture& capture);

}  // namespace oddrank::report
