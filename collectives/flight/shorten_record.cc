#include "collectives/flight/shorten_record.h"

#include <algorithm>
#include <vector>

#include "snapshot/flight_record.h"

namespace oddrank::collectives {

std::size_t flight_entry_limit(std::int32_t world_size) {
  // An entry takes some 100 bytes in memory: 200 MB for a whole job.
  constexpr std::size_t kMaxOfJob = 2'000'000;
  constexpr std::size_t kMinEntries = 128;
  constexpr std::size_t kMaxEntries = 4000;
  const auto ranks = static_cast<std::size_t>(std::max(world_size, 1));
  return std::clamp(kMaxOfJob / ranks, kMinEntries, kMaxEntries);
}

void shorten_record(snapshot::FlightRecord& record,
                    const snapshot::Tables& texts,
                    std::size_t most) {
  auto& entries = record.entries;
  if (entries.size() <= most) {
    return;
  }
  const std::size_t first = entries.size() - most;
  std::vector<bool> seen(record.groups.size(), false);
  std::vector<bool> keep(entries.size(), false);
  for (std::size_t at = entries.size(); at-- > 0;) {
    const snapshot::FlightEntry& entry = entries[at];
    const bool last = entry.group < seen.size() && !seen[entry.group];
    if (last) {
      seen[entry.group] = true;
    }
    keep[at] = at >= first || last || !snapshot::has_ended(entry, texts);
  }
  std::size_t kept = 0;
  for (std::size_t at = 0; at < entries.size(); ++at) {
    if (keep[at]) {
      entries[kept++] = entries[at];
    }
  }
  record.shortened = record.shortened || kept < entries.size();
  entries.resize(kept);
}

}  // namespace oddrank::collectives
