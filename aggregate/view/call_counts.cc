#include "aggregate/view/call_counts.h"

#include <algorithm>
#include <optional>

namespace oddrank::aggregate {
namespace {

using snapshot::FlightEntry;
using snapshot::ProcessGroup;

// Returns the index of that group in the rank's flight recorder; nullopt if it is not there, or if
// several backends of the group count apart.
std::optional<std::uint32_t> recorded_group(const RankView& rank, snapshot::StringId name) {
  if (rank.recorded == nullptr) {
    return std::nullopt;
  }
  const auto& groups = rank.recorded->groups;
  const auto is_named = [name](const auto& group) { return group.name == name; };
  const auto row = std::find_if(groups.begin(), groups.end(), is_named);
  if (row == groups.end() || std::count_if(groups.begin(), groups.end(), is_named) != 1) {
    return std::nullopt;
  }
  return static_cast<std::uint32_t>(row - groups.begin());
}

bool is_collective_of(const FlightEntry& entry, std::uint32_t group) {
  return !entry.is_p2p && entry.group == group;
}

// Returns the number of the newest collective of that group in the rank's flight recorder, or -1.
std::int64_t newest_recorded(const RankView& rank, snapshot::StringId name) {
  const auto group = recorded_group(rank, name);
  std::int64_t newest = -1;
  if (group) {
    for (const FlightEntry& entry : rank.recorded->entries) {
      newest = is_collective_of(entry, *group) ? std::max(newest, entry.sequence) : newest;
    }
  }
  return newest;
}

const ProcessGroup* group_of(const RankView& rank, const snapshot::CollectiveCall& call) {
  return rank.process == nullptr ? nullptr : find_group_of(rank.process->groups, call);
}

}  // namespace

std::int64_t newest_in_group(const RankView& rank, const snapshot::CollectiveCall& call) {
  const ProcessGroup* group = group_of(rank, call);
  if (group == nullptr) {
    return -1;
  }
  const bool counts = group->counters.size() == 1 && !group->counters.front().mixed;
  return counts ? group->counters.front().collectives : newest_recorded(rank, group->name);
}

std::int64_t age_of_call_ms(const RankView& rank, const snapshot::CollectiveCall& call) {
  const ProcessGroup* row = call.sequence < 0 ? nullptr : group_of(rank, call);
  const auto group = row == nullptr ? std::nullopt : recorded_group(rank, row->name);
  if (!group) {
    return -1;
  }
  const auto written = static_cast<std::int64_t>(rank.recorded->written_us);
  for (const FlightEntry& entry : rank.recorded->entries) {
    const std::int64_t created = entry.created_ns / 1000;
    if (is_collective_of(entry, *group) && entry.sequence == call.sequence &&
        entry.created_ns > 0 && written > created) {
      return (written - created) / 1000;
    }
  }
  return -1;
}

bool has_made(const RankView& rank, const snapshot::CollectiveCall& call) {
  return call.kind == snapshot::CallKind::kCollective && call.sequence >= 0 &&
         newest_in_group(rank, call) >= call.sequence;
}

}  // namespace oddrank::aggregate
