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

// Where the job has more threads than this, a rank has no list of them, but their number
// ("threads_left_out"): a stack a thread, millions of them, would be gigabytes. The report of one
// node's capture has them.
inline constexpr std::size_t kMostListedThreads = std::size_t{1} << 14;

// Indented, ends with a newline; always valid UTF-8. `view` is of the capture that the report was
// made from.
std::string report_json(const aggregate::Diagnosis& report, const aggregate::JobView& view);
std::string report_json(const aggregate::Diagnosis& report, const snapshot::Capture& capture);

// A verdict alone, as it stands in a report.
std::string verdict_json_text(const aggregate::Verdict& verdict);

}  // namespace oddrank::report
