#include "aggregate/flight/flight_capture.h"

#include <algorithm>
#include <limits>
#include <set>

#include "aggregate/flight/flight_verdict.h"
#include "snapshot/flight_calls.h"

namespace oddrank::aggregate {
namespace {

bool written_together(const FlightReport& report) {
  constexpr std::uint64_t kApartUs = 120'000'000;
  std::uint64_t first = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t last = 0;
  for (const FlightRecord* record : report.job.records) {
    first = std::min(first, record->written_us);
    last = std::max(last, record->written_us);
  }
  const bool of_cores = last == 0 && is_from_memory(report);
  return of_cores || (first != 0 && last - std::min(first, last) <= kApartUs);
}

}  // namespace

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

std::optional<FlightReport> analyze_flight_of(const snapshot::Capture& capture) {
  if (capture.collectives.flight.empty()) {
    return std::nullopt;
  }
  return analyze_flight(capture.collectives.flight, capture.tables);
}

bool is_current(const FlightReport& report, const JobView& view) {
  if (!written_together(report)) {
    return false;
  }
  const bool of_cores = view.capture().job.source == snapshot::JobSource::kCore;
  for (const FlightWait& wait : report.waits.waits) {
    for (const std::int32_t rank : wait.waiters) {
      const FlightRecord* record = report.job.record(rank);
      const std::size_t at = view.index_of(rank);
      // A core file has one sample; its calls are of the same moment.
      const bool still = at != JobView::kNone && (view.rank(at).motion.still() ||
                                                  (of_cores && !view.rank(at).motion.measured));
      if (record == nullptr || !still || view.rank(at).process == nullptr) {
        continue;
      }
      const std::uint64_t read_us = view.rank(at).process->read_us;
      const bool stood = std::ranges::any_of(record->entries, [&](const auto& entry) {
        return !has_ended(entry, *report.job.texts) &&
               snapshot::stood_still(entry, *record, read_us);
      });
      if (stood) {
        return true;
      }
    }
  }
  return false;
}

bool is_from_memory(const FlightReport& report) {
  const auto& records = report.job.records;
  return !records.empty() &&
         std::ranges::all_of(records, [](const auto* record) { return record->from_memory; });
}

}  // namespace oddrank::aggregate
