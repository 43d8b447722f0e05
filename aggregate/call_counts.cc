#include "aggregate/call_counts.h"

#include <algorithm>

namespace oddrank::aggregate {
namespace {

// Returns the number of the newest collective of that group in the rank's flight recorder; -1 if
// there is none, or if several backends of the group count apart.
std::int64_t newest_recorded(const RankView& rank, snapshot::StringId name) {
  if (rank.recorded == nullptr) {
    return -1;
  }
  const auto& groups = rank.recorded->groups;
  const auto is_named = [name](const auto& group) { return group.name == name; };
  const auto row = std::find_if(groups.begin(), groups.end(), is_named);
  if (row == groups.end() || std::count_if(groups.begin(), groups.end(), is_named) != 1) {
    return -1;
  }
  std::int64_t newest = -1;
  for (const snapshot::FlightEntry& entry : rank.recorded->entries) {
    if (!entry.is_p2p && entry.group == static_cast<std::uint32_t>(row - groups.begin())) {
      newest = std::max(newest, entry.sequence);
    }
  }
  return newest;
}

}  // namespace

std::int64_t newest_in_group(const RankView& rank, const snapshot::CollectiveCall& call) {
  if (rank.process == nullptr) {
    return -1;
  }
  const auto& groups = rank.process->groups;
  const auto row = std::find_if(groups.begin(), groups.end(),
                                [&call](const auto& group) { return is_group_of(group, call); });
  if (row == groups.end()) {
    return -1;
  }
  const bool counts = row->counters.size() == 1 && !row->counters.front().mixed;
  return counts ? row->counters.front().collectives : newest_recorded(rank, row->name);
}

bool has_made(const RankView& rank, const snapshot::CollectiveCall& call) {
  return call.kind == snapshot::CallKind::kCollective && call.sequence >= 0 &&
         newest_in_group(rank, call) >= call.sequence;
}

}  // namespace oddrank::aggregate
