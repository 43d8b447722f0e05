// A process group of torch.distributed, as one of its members sees it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/small/slim_vector.h"
#include "snapshot/collective_call.h"
#include "snapshot/ids.h"

namespace oddrank::snapshot {

// How many calls this process has made in one backend of a group, finished or not. The members of a
// group count collectives alike, so these numbers can be compared.
struct GroupCounter {
  StringId backend{};             // "gloo", "nccl"
  std::int64_t collectives = -1;  // in the last sample; -1 = unknown
  std::int64_t transfers = -1;    // sends and receives; -1 = unknown, or not counted apart
  // The same in the first sample that has them, if a later one does, too.
  std::int64_t collectives_before = -1;
  std::int64_t transfers_before = -1;
  // `collectives` also counts sends and receives (gloo), which differ between members: it shows
  // motion, but does not number the collectives.
  bool mixed = false;

  bool operator==(const GroupCounter&) const = default;
};

// Returns whether calls were made between the samples.
inline bool has_counted_on(const GroupCounter& counter) {
  return (counter.collectives_before >= 0 && counter.collectives > counter.collectives_before) ||
         (counter.transfers_before >= 0 && counter.transfers > counter.transfers_before);
}

struct ProcessGroup {
  // torch's own name: the same on all members ("5", or a hash). A number counts the process's calls
  // of new_group, also for groups without it: ranks that skipped such a call use the number for
  // another group.
  StringId name{};
  StringId label{};    // the program's name for it: "tp"; empty = unknown
  StringId backend{};  // "gloo", "cpu:gloo,cuda:nccl"; empty = unknown
  bool is_default = false;
  // Global ranks in the order of their rank within the group (snapshot/rank_text.h). Empty for the
  // default group of all ranks, and if they could not be read.
  StringId members{};
  // For a group that was made by hand, with a store other than the default group's: where its
  // members met, "10.0.0.1:29777 weights/", the same on all but for the host's name. Its members
  // number themselves, and may belong to several jobs. Empty: an ordinary group.
  StringId met_at{};
  std::int32_t rank = -1;                  // of this process within the group; -1 = unknown
  std::int32_t size = -1;                  // members altogether
  SlimVector<GroupCounter> counters = {};  // one for each backend that counts

  bool operator==(const ProcessGroup&) const = default;
};

// A key of a store that the process serves (TCPStore), with all prefixes.
struct StoreKey {
  StringId name{};
  std::uint32_t waiting = 0;  // clients that wait for it; 0: it is set

  bool operator==(const StoreKey&) const = default;
};

// Returns the default group of a process, or null.
inline const ProcessGroup* default_group_of(const SlimVector<ProcessGroup>& groups) {
  const auto at = std::find_if(groups.begin(), groups.end(),
                               [](const ProcessGroup& group) { return group.is_default; });
  return at == groups.end() ? nullptr : &*at;
}

// Returns whether the call is in this group: by name, and by members if both are known.
inline bool is_group_of(const ProcessGroup& group, const CollectiveCall& call) {
  if (call.whole_world) {
    return group.is_default;
  }
  const bool known = call.members != StringId{} && group.members != StringId{};
  return call.group != StringId{} && group.name == call.group &&
         (!known || call.members == group.members);
}

// Returns the call's group among its process's groups, or null.
inline const ProcessGroup* find_group_of(const SlimVector<ProcessGroup>& groups,
                                         const CollectiveCall& call) {
  const auto at = std::find_if(groups.begin(), groups.end(), [&call](const ProcessGroup& group) {
    return is_group_of(group, call);
  });
  return at == groups.end() ? nullptr : &*at;
}

}  // namespace oddrank::snapshot
