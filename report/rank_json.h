// One rank in the JSON report: its process and children, their threads, waits, calls and frames.
// Private to report/.
#pragma once

#include "aggregate/view/job_view.h"
#include "report/json_values.h"

namespace oddrank::report {

// Writes a row of "ranks"; the rank must have a process. If threads are not requested, writes their
// number instead.
Json rank_json(const aggregate::JobView& view, const aggregate::RankView& rank, bool with_threads);

}  // namespace oddrank::report
