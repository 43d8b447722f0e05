// One rank in the JSON report: its process and children, their threads, waits, calls and frames.
// Private to aggregate/.
#pragma once

#include "aggregate/job_view.h"
#include "aggregate/json_values.h"

namespace oddrank::aggregate {

// A row of "ranks"; the rank must have a process. Without threads their number stands instead.
Json rank_json(const JobView& view, const RankView& rank, bool with_threads);

}  // namespace oddrank::aggregate
