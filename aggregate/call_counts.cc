#include "aggregate/call_counts.h"

#include <algorithm>
#include <vector>

namespace oddrank::aggregate {
namespace {

using snapshot::FlightEntry;
using snapshot::ProcessGroup;

// Returns the collectives of that group in the rank's flight recorder; none if several backends of
// the group count apart.
std::vector<const FlightEntry*> recorded_in(const RankView& rank, snapshot::StringId name) {
  if (rank.recorded == nullptr) {
    return {};
  }
  const auto& groups = rank.recorded->groups;
  const auto is_named = [name](const auto& group) { return group.name == name; };
  const auto row = std::find_if(groups.begin(), groups.end(), is_named);
  if (row == groups.end() || std::count_if(groups.begin(), groups.end(), is_named) != 1) {
    return {};
  }
  std::vector<const FlightEntry*> found;
  for (const FlightEntry& entry : rank.recorded->entries) {
    if (!entry.is_p2p && entry.group == static_cast<std::uint32_t>(row - groups.begin())) {
      found.push_back(&entry);
    }
  }
  return found;
}

std::int64_t newest_recorded(const RankView& rank, snapshot::StringId name) {
  std::int64_t newest = -1;
  for (const FlightEntry* entry : recorded_in(rank, name)) {
    newest = std::max(newest, entry->sequence);
  }
  return newest;
}

const ProcessGroup* group_of(const RankView& rank, const snapshot::CollectiveCall& call) {
  if (rank.process == nullptr) {
    return nullptr;
  }
  const auto& groups = rank.process->groups;
  const auto row = std::find_if(groups.begin(), groups.end(),
                                [&call](const auto& group) { return is_group_of(group, call); });
  return row == groups.end() ? nullptr : &*row;
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
  const ProcessGroup* group = call.sequence < 0 ? nullptr : group_of(rank, call);
  if (group == nullptr) {
    return -1;
  }
  for (const FlightEntry* entry : recorded_in(rank, group->name)) {
    const auto written = static_cast<std::int64_t>(rank.recorded->written_us);
    if (entry->sequence == call.sequence && entry->created_ns > 0 &&
        written > entry->created_ns / 1000) {
      return (written - entry->created_ns / 1000) / 1000;
    }
  }
  return -1;
}

bool has_made(const RankView& rank, const snapshot::CollectiveCall& call) {
  return call.kind == snapshot::CallKind::kCollective && call.sequence >= 0 &&
         newest_in_group(rank, call) >= call.sequence;
}

}  // namespace oddrank::aggregate
