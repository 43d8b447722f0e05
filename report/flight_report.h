// The report on flight recorder dumps (`oddrank fr`), for people and for programs.
#pragma once

#include <string>
#include <vector>

#include "aggregate/flight/flight_facts.h"
#include "aggregate/verdict.h"

namespace oddrank::report {

// A file that could not be read, and why.
struct UnreadDump {
  std::string source;
  std::string why;
};

// What is known from dumps alone.
struct FlightReport {
  const aggregate::FlightFacts& facts;
  const aggregate::Verdict& verdict;
  std::vector<UnreadDump> unread;
};

// Returns the verdict, coverage and notes as text; ends with a newline.
std::string flight_report_text(const FlightReport& report);
// Returns verdict, coverage and collectives as in format 1 of `oddrank node --json`; in addition,
// for each group and rank, the highest enqueued number and the lowest one that has not ended.
std::string flight_report_json(const FlightReport& report);

}  // namespace oddrank::report
