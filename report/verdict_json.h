// The verdict in JSON, the same in every report. Private to report/.
#pragma once

#include "aggregate/verdict.h"
#include "report/json_values.h"

namespace oddrank::report {

// Returns the report's `verdict`.
Json verdict_json(const aggregate::Verdict& verdict);

}  // namespace oddrank::report
