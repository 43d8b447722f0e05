// One rank in the JSON report: its process and children, their threads, waits, calls and frames.
// Private to report/.
#pragma once

#include "aggregate/flight/flight_history.h"
#include "aggregate/view/job_view.h"
#include "report/json_values.h"

namespace oddrank::report {

// Returns a row of "ranks"; the rank must have a process. If threads are not requested, the row has
// their number instead. `step`: null if it is unknown.
Json rank_json(const aggregate::JobView& view,
               const aggregate::RankView& rank,
               const aggregate::RankStep* step,
               bool with_threads);

}  // namespace oddrank::report
