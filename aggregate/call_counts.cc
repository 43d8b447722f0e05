#include "aggregate/call_counts.h"

#include <algorithm>

namespace oddrank::aggregate {

std::int64_t newest_in_group(const RankView& rank, const snapshot::CollectiveCall& call) {
  if (rank.process == nullptr) {
    return -1;
  }
  const auto& groups = rank.process->groups;
  const auto row = std::find_if(groups.begin(), groups.end(),
                                [&call](const auto& group) { return is_group_of(group, call); });
  const bool counts =
      row != groups.end() && row->counters.size() == 1 && !row->counters.front().mixed;
  return counts ? row->counters.front().collectives : -1;
}

bool has_made(const RankView& rank, const snapshot::CollectiveCall& call) {
  return call.kind == snapshot::CallKind::kCollective && call.sequence >= 0 &&
         newest_in_group(rank, call) >= call.sequence;
}

}  // namespace oddrank::aggregate
