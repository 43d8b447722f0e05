#include "aggregate/flight/analyze_flight.h"

#include <set>

#include "aggregate/flight/flight_verdict.h"

namespace oddrank::aggregate {

FlightReport analyze_flight(const std::vector<snapshot::FlightRecord>& records,
                            const snapshot::Tables& texts) {
  FlightReport report;
  report.job = make_flight_job(records, texts);
  report.waits = find_flight_waits(report.job);
  report.mismatches = find_mismatches(report.job);
  report.verdict = decide_flight(report.job, report.waits, report.mismatches);
  return report;
}

std::vector<std::int32_t> ranks_without_dump(const FlightReport& report) {
  std::set<std::int32_t> missing;
  for (const FlightMembers& group : report.job.groups) {
    missing.insert(group.no_dump.begin(), group.no_dump.end());
  }
  return {missing.begin(), missing.end()};
}

}  // namespace oddrank::aggregate
