// The report for people, on a terminal of 24 lines and, if it is not wider, 80 columns: the answer
// first.
#pragma once

#include <string>

#include "aggregate/diagnosis.h"
#include "aggregate/view/job_view.h"
#include "report/text_options.h"
#include "snapshot/capture.h"

namespace oddrank::report {

// Return the whole text, which ends with a newline. `view`, `capture`: those that the report was
// made from (for all_threads).
std::string report_text(const aggregate::Diagnosis& report,
                        const aggregate::JobView& view,
                        const TextOptions& options);
std::string report_text(const aggregate::Diagnosis& report,
                        const snapshot::Capture& capture,
                        const TextOptions& options);

// Returns one line for -q: "input_stall: rank 4 (n0, pid 3121) waits for ...\n".
std::string report_sentence(const aggregate::Diagnosis& report);

}  // namespace oddrank::report
