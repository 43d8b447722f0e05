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

}  // namespace oddrank::aggregate
