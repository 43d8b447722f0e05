// What flight recorders tell, as plain data: progress of each group, waits, mismatches and the
// verdict; and whether those in a capture show the same hang as its stacks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "aggregate/flight/flight_job.h"
#include "aggregate/flight/flight_mismatch.h"
#include "aggregate/flight/flight_waits.h"
#include "aggregate/verdict.h"
#include "aggregate/view/job_view.h"

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

// Returns nullopt if the capture has no dumps. Borrows the capture.
std::optional<FlightReport> analyze_flight_of(const snapshot::Capture& capture);

// Returns whether all dumps were written within two minutes, and a call that ranks wait for stood
// still for long (snapshot/flight_calls.h) on a rank that is still in the same place. Otherwise the
// dumps may be from an earlier time, when the job was well.
bool is_current(const FlightReport& report, const JobView& view);

// Returns whether all calls were read from the ranks' memory, beside their stacks.
bool is_from_memory(const FlightReport& report);

}  // namespace oddrank::aggregate
