// What flight recorders tell, as plain data: progress of each group, waits, mismatches and the
// verdict.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "aggregate/flight/flight_job.h"
#include "aggregate/flight/flight_mismatch.h"
#include "aggregate/flight/flight_waits.h"
#include "aggregate/verdict.h"
#include "snapshot/flight_record.h"

namespace oddrank::aggregate {

// A file that could not be read, and why.
struct UnreadDump {
  std::string source;
  std::string why;
};

struct FlightReport {
  FlightJob job;
  FlightWaits waits;
  std::vector<FlightMismatch> mismatches;
  Verdict verdict;
  std::vector<UnreadDump> unread;
};

// The whole analysis. Borrows records and texts.
FlightReport analyze_flight(const std::vector<snapshot::FlightRecord>& records,
                            const snapshot::Tables& texts);

// Some ranks are members of groups, and gave no dump: ascending.
std::vector<std::int32_t> ranks_without_dump(const FlightReport& report);

}  // namespace oddrank::aggregate
