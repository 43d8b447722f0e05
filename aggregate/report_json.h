// The report for programs: format 1 of docs/json.md. Fields are only ever added within a format
// number.
#pragma once

#include <string>

#include "aggregate/report.h"
#include "snapshot/capture.h"

namespace oddrank::aggregate {

inline constexpr int kJsonFormat = 1;

// Indented, ends with a newline; always valid UTF-8. `capture` is the one that the report was made
// from.
std::string report_json(const Report& report, const snapshot::Capture& capture);

// A verdict alone, as it stands in a report.
std::string verdict_json_text(const Verdict& verdict);

}  // namespace oddrank::aggregate
