#include "aggregate/view/call_counts.h"

#include <algorithm>
#include <optional>

namespace oddrank::aggregate {
namespace {

using snapshot::FlightEntry;
using snapshot::ProcessGroup;

const ProcessGroup* group_of(const RankView& rank, const snapshot::CollectiveCall& call) {
  return rank.process == nullptr ? nullptr : find_group_of(rank.process->groups, call);
}

// Returns whether one backend alone counts the recorded calls of the group with that name.
bool counts_once(const RankView& rank, snapshot::StringId name) {
  return rank.recorded != nullptr &&
         std::ranges::count_if(rank.recorded->groups,
                               [name](const auto& group) { return group.name == name; }) == 1;
}

// Calls `visit` with the recorded collectives of the group with that name, of any backend.
template <typename Visit>
void for_recorded(const RankView& rank, snapshot::StringId name, Visit visit) {
  if (rank.recorded == nullptr) {
    return;
  }
  const auto& groups = rank.recorded->groups;
  for (const FlightEntry& entry : rank.recorded->entries) {
    if (!entry.is_p2p && entry.group < groups.size() && groups[entry.group].name == name) {
      visit(entry);
    }
  }
}

// Returns the backend of the rank's call: the only one with open calls of that group in its
// recorder. Empty: unknown.
snapshot::StringId backend_of_call(const RankView& waiter) {
  const ProcessGroup* group = group_of(waiter, *waiter.decider->call);
  std::optional<snapshot::StringId> found;
  bool several = group == nullptr;
  if (group != nullptr) {
    for_recorded(waiter, group->name, [&](const FlightEntry& entry) {
      if (entry.state != snapshot::FlightState::kCompleted && !entry.retired) {
        several = several || (found && *found != entry.backend);
        found = entry.backend;
      }
    });
  }
  return several || !found ? snapshot::StringId{} : *found;
}

// Returns the number of the newest collective of that group in the rank's flight recorder, or -1.
// Without a backend, nothing is known if several count apart.
std::int64_t newest_recorded(const RankView& rank,
                             snapshot::StringId name,
                             snapshot::StringId backend) {
  std::int64_t newest = -1;
  if (backend != snapshot::StringId{} || counts_once(rank, name)) {
    for_recorded(rank, name, [&](const FlightEntry& entry) {
      const bool counts = backend == snapshot::StringId{} || entry.backend == backend;
      newest = counts ? std::max(newest, entry.sequence) : newest;
    });
  }
  return newest;
}

}  // namespace

std::int64_t newest_in_group(const RankView& rank, const RankView& waiter) {
  const ProcessGroup* group = group_of(rank, *waiter.decider->call);
  if (group == nullptr) {
    return -1;
  }
  const auto& counters = group->counters;
  const snapshot::StringId backend =
      counters.size() > 1 ? backend_of_call(waiter) : snapshot::StringId{};
  const auto counter = std::ranges::find_if(counters, [&](const auto& one) {
    return !one.mixed && (counters.size() == 1 || one.backend == backend);
  });
  return counter != counters.end() ? counter->collectives
                                   : newest_recorded(rank, group->name, backend);
}

std::int64_t collectives_made_in(const RankView& rank, const ProcessGroup& group) {
  if (group.counters.size() != 1) {
    return -1;
  }
  const snapshot::GroupCounter& counter = group.counters.front();
  if (!counter.mixed || counter.collectives == 0) {
    return counter.collectives;
  }
  return newest_recorded(rank, group.name, {});
}

std::int64_t age_of_call_ms(const RankView& rank, const snapshot::CollectiveCall& call) {
  const ProcessGroup* group = call.sequence < 0 ? nullptr : group_of(rank, call);
  std::int64_t age_ms = -1;
  if (group == nullptr || !counts_once(rank, group->name)) {
    return age_ms;
  }
  const auto written = static_cast<std::int64_t>(rank.recorded->written_us);
  for_recorded(rank, group->name, [&](const FlightEntry& entry) {
    const std::int64_t created = entry.created_ns / 1000;
    if (age_ms < 0 && entry.sequence == call.sequence && entry.created_ns > 0 &&
        written > created) {
      age_ms = (written - created) / 1000;
    }
  });
  return age_ms;
}

bool has_made(const RankView& rank, const RankView& waiter) {
  const snapshot::CollectiveCall& call = *waiter.decider->call;
  return call.kind == snapshot::CallKind::kCollective && call.sequence >= 0 &&
         newest_in_group(rank, waiter) >= call.sequence;
}

}  // namespace oddrank::aggregate
