// The verdict in JSON, the same in every report. Private to report/.
//
// How a verdict was reached, in JSON (docs/json.md). Private to report/.
#pragma once

#include "aggregate/explain/explain.h"
#include "aggregate/verdict.h"
#include "report/json_values.h"

namespace oddrank::report {

// Returns the report's `verdict`.
Json verdict_json(const aggregate::Verdict& verdict);

// Returns the report's `explanation`.
Json explain_json(const aggregate::Explanation& explanation);

}  // namespace oddrank::report
