#include "aggregate/flight/past_calls.h"

#include <algorithm>
#include <map>
#include <utility>

namespace oddrank::aggregate {

bool CallKey::is_like(const CallKey& other) const {
  return op == other.op && group == other.group && peer == other.peer;
}

std::vector<PastCall> newest_calls(const FlightJob& job, std::size_t record, std::size_t most) {
  const auto& entries = job.records[record]->entries;
  std::size_t first = entries.size();
  while (first > 0 && entries.size() - first < most &&
         (first == entries.size() || entries[first - 1].record + 1 == entries[first].record)) {
    --first;
  }
  std::vector<PastCall> calls;
  for (std::size_t i = first; i < entries.size(); ++i) {
    const FlightEntry& entry = entries[i];
    const std::size_t group = job.group_at(record, entry);
    calls.push_back({{entry.op, group, job.peer_in(group, entry), entry.place}, &entry});
  }
  return calls;
}

std::optional<Repeat> repeat_of(const std::vector<PastCall>& calls, bool with_sizes) {
  std::map<std::pair<CallKey, snapshot::StringId>, std::size_t> kinds;
  std::vector<std::size_t> row;  // of each call, which kind it is
  for (const PastCall& call : calls) {
    const snapshot::StringId sizes = with_sizes ? call.entry->input_sizes : snapshot::StringId{};
    row.push_back(kinds.try_emplace({call.key, sizes}, kinds.size()).first->second);
  }
  std::vector<std::size_t> run(row.size());  // of calls that are those a period before
  for (std::size_t period = 1; period <= row.size() / 2; ++period) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      run[i] = i < period || row[i] != row[i - period] ? 0 : (i == 0 ? 0 : run[i - 1]) + 1;
    }
    for (std::size_t end = row.size(); end > row.size() - period; --end) {
      if (run[end - 1] >= std::max(period, (row.size() - period) / 2)) {
        return Repeat{end, period, run[end - 1]};
      }
    }
  }
  return std::nullopt;
}

}  // namespace oddrank::aggregate
