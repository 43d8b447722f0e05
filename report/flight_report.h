// The report on flight recorders' dumps (`oddrank fr`), for people and for programs.
#pragma once

#include <string>

#include "aggregate/flight/analyze_flight.h"

namespace oddrank::report {

std::string flight_report_text(const aggregate::FlightReport& report);
// Verdict, coverage and collectives as in format 1 of `oddrank node --json`; besides, per group and
// rank the highest number that was enqueued and the lowest that has not ended.
std::string flight_report_json(const aggregate::FlightReport& report);

}  // namespace oddrank::report
