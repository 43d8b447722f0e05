// The report for programs: format 1 of docs/json.md. Fields are only ever added within a format
// number.
#pragma once

#include <cstddef>
#include <string>

#include "aggregate/diagnosis.h"
#include "aggregate/view/job_view.h"
#include "snapshot/capture.h"

namespace oddrank::report {

inline constexpr int kJsonFormat = 1;

// If the job has more threads than this, each rank has their number ("threads_left_out") instead of
// a list: the stacks of millions of threads would take gigabytes. The report of one node's capture
// lists them.
inline constexpr std::size_t kMaxListedThreads = std::size_t{1} << 14;

// Returns indented, valid UTF-8 that ends with a newline. `view` is of the capture from which the
// report was made.
std::string report_json(const aggregate::Diagnosis& report, const aggregate::JobView& view);
std::string report_json(const aggregate::Diagnosis& report, const snapshot::Capture& capture);

// Returns only a verdict, in the form that it has in a report.
std::string verdict_json_text(const aggregate::Verdict& verdict);

}  // namespace oddrank::report
