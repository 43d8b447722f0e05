#include "aggregate/flight/flight_facts.h"

#include <algorithm>
#include <limits>
#include <set>

#include "aggregate/view/job_view.h"
#include "snapshot/flight_calls.h"

namespace oddrank::aggregate {
namespace {

bool written_together(const FlightFacts& facts) {
  constexpr std::uint64_t kApartUs = 120'000'000;
  std::uint64_t first = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t last = 0;
  for (const FlightRecord* record : facts.job.records) {
    first = std::min(first, record->written_us);
    last = std::max(last, record->written_us);
  }
  const bool of_cores = last == 0 && is_from_memory(facts);
  return of_cores || (first != 0 && last - std::min(first, last) <= kApartUs);
}

}  // namespace

std::optional<FlightFacts> flight_facts(const snapshot::Capture& capture) {
  if (capture.collectives.flight.empty()) {
    return std::nullopt;
  }
  FlightFacts facts;
  facts.job = make_flight_job(capture.collectives.flight, capture.tables);
  facts.waits = find_flight_waits(facts.job);
  facts.mismatches = find_mismatches(facts.job);
  return facts;
}

std::vector<std::int32_t> ranks_without_dump(const FlightFacts& facts) {
  std::set<std::int32_t> missing;
  for (const FlightMembers& group : facts.job.groups) {
    missing.insert(group.no_dump.begin(), group.no_dump.end());
  }
  return {missing.begin(), missing.end()};
}

bool is_current(const JobView& view) {
  if (view.flight() == nullptr || view.only_recorded()) {
    return view.only_recorded();
  }
  const FlightFacts& facts = *view.flight();
  if (!written_together(facts)) {
    return false;
  }
  const bool of_cores = view.capture().job.source == snapshot::JobSource::kCore;
  return std::ranges::any_of(facts.job.records, [&](const FlightRecord* record) {
    const std::size_t at = view.index_of(record->rank);
    // A core file has one sample; its calls are of the same moment.
    const bool still =
        at != JobView::kNone && view.rank(at).process != nullptr &&
        (view.rank(at).motion.still() || (of_cores && !view.rank(at).motion.measured));
    return still && std::ranges::any_of(record->entries, [&](const FlightEntry& entry) {
             return !has_ended(entry, *facts.job.texts) &&
                    snapshot::stood_still(entry, *record, view.rank(at).process->read_us);
           });
  });
}

bool is_from_memory(const FlightFacts& facts) {
  const auto& records = facts.job.records;
  return !records.empty() &&
         std::ranges::all_of(records, [](const auto* record) { return record->from_memory; });
}

}  // namespace oddrank::aggregate
