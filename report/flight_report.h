// The report on flight recorder dumps (`oddrank fr`), for people and for programs.
#pragma once

#include <string>

#include "aggregate/flight/flight_capture.h"

namespace oddrank::report {

// Returns the verdict, coverage and notes as text; ends with a newline.
std::string flight_report_text(const aggregate::FlightReport& report);
// Verdict, coverage and collectives as in format 1 of `oddrank node --json`; in addition, per group
// and rank, the highest enqueued number and the lowest one that has not ended.
std::string flight_report_json(const aggregate::FlightReport& report);

}  // namespace oddrank::report
