// The first screen of the HTML report as data: what it says in words, and needs no tables for.
#pragma once

#include <string>

#include "aggregate/diagnosis.h"

namespace oddrank::report {

// A JSON object with the members verdict, coverage, notes and since; html/page.js reads them.
std::string html_verdict(const aggregate::Diagnosis& report);

}  // namespace oddrank::report
