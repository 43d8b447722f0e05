// The first screen of the HTML report as data: the worded part, which needs no tables.
#pragma once

#include <string>

#include "aggregate/diagnosis.h"

namespace oddrank::report {

// Returns a JSON object with the members verdict, coverage, notes and since; html/page.js reads
// them.
std::string html_verdict(const aggregate::Diagnosis& report);

}  // namespace oddrank::report
