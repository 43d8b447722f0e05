// A process group of torch.distributed, as one of its members sees it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/small/slim_vector.h"
#include "snapshot/collective_call.h"
#include "snapshot/ids.h"

namespace oddrank::snapshot {

// How many calls one backend of a group has been given by this process, finished or not. The
// members of a group count collectives alike, so that these numbers can be compared.
struct GroupCounter {
  StringId backend{};             // "gloo", "nccl"
  std::int64_t collectives = -1;  // in the last sample; -1 = unknown
  std::int64_t transfers = -1;    // sends and receives; -1 = unknown, or not counted apart
  // The same in the first sample in which they were read, if they were in another one, too.
  std::int64_t collectives_before = -1;
  std::int64_t transfers_before = -1;
  // `collectives` counts sends and receives too (gloo), of which members make different numbers: it
  // shows motion, but is no number of a collective.
  bool mixed = false;

  bool operator==(const GroupCounter&) const = default;
};

// Returns whether calls were made between the samples.
inline bool has_counted_on(const GroupCounter& counter) {
  return (counter.collectives_before >= 0 && counter.collectives > counter.collectives_before) ||
         (counter.transfers_before >= 0 && counter.transfers > counter.transfers_before);
}

struct ProcessGroup {
  // torch's own name: the same on all members ("5", or a hash). A number counts the groups that the
  // process has made or left to others: ranks that skipped a call of new_group use it for another
  // group.
  StringId name{};
  StringId label{};    // the program's name for it: "tp"; empty = unknown
  StringId backend{};  // "gloo", "cpu:gloo,cuda:nccl"; empty = unknown
  bool is_default = false;
  // Global ranks in the order of their rank within the group (snapshot/rank_text.h). Empty for the
  // default group of all ranks, and if they could not be read.
  StringId members{};
  // Where the members of a group met that was made by hand, with a store that is not the default
  // group's: "10.0.0.1:29777 weights/", the same on all of them, but for the name of the host. They
  // number themselves, and may be of several jobs. Empty: an ordinary group.
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

// Returns the default group among those of a process, or null.
inline const ProcessGroup* default_group_of(const SlimVector<ProcessGroup>& groups) {
  const auto at = std::find_if(groups.begin(), groups.end(),
                               [](const ProcessGroup& group) { return group.is_default; });
  return at == groups.end() ? nullptr : &*at;
}

// Returns whether the call is one of this group: by name, and by members if both are known.
inline bool is_group_of(const ProcessGroup& group, const CollectiveCall& call) {
  if (call.whole_world) {
    return group.is_default;
  }
  const bool known = call.members != StringId{} && group.members != StringId{};
  return call.group != StringId{} && group.name == call.group &&
         (!known || call.members == group.members);
}

// Returns the row of the call's group among those of its process, or null.
inline const ProcessGroup* find_group_of(const SlimVector<ProcessGroup>& groups,
                                         const CollectiveCall& call) {
  const auto at = std::find_if(groups.begin(), groups.end(), [&call](const ProcessGroup& group) {
    return is_group_of(group, call);
  });
  return at == groups.end() ? nullptr : &*at;
}

}  // namespace oddrank::snapshot
