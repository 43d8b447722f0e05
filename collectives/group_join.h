// Joins the locals of a call's frame to the process groups of its process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "snapshot/collective_call.h"
#include "snapshot/process_group.h"
#include "snapshot/tables.h"

namespace oddrank::collectives {

// One element of a batch of sends and receives, from "<P2POp op=irecv peer=3 group=<ProcessGroup
// 5>>".
struct P2pOperation {
  bool receives = false;
  std::int32_t peer = -1;  // global rank
  std::string_view group;  // as text

  bool operator==(const P2pOperation&) const = default;
};

// Reads the text of a P2POp or of a list of them; empty if one of them cannot be read, or the list
// is longer than its text.
std::vector<P2pOperation> p2p_operations(std::string_view text);

class GroupJoin {
 public:
  // Borrows both.
  GroupJoin(const SlimVector<snapshot::ProcessGroup>& groups, const snapshot::Tables& tables)
      : groups_(groups), tables_(tables) {}

  // Finds a group by the text of its object ("<ProcessGroup 5>"). nullptr: not one of this process.
  const snapshot::ProcessGroup* of_object(std::string_view text) const;
  // Finds a group by torch's own name in quotes ("'5'"), as functional collectives hold it.
  const snapshot::ProcessGroup* of_name(std::string_view text) const;
  // Returns the only group that this process is in; nullptr if there are several, or none is known.
  const snapshot::ProcessGroup* only() const;
  // Returns the members of this process's groups with others in them, if all such groups have the
  // same members; else empty.
  std::vector<std::int32_t> common_members() const;

  // Fills in name, label and members of the call's group.
  void fill(const snapshot::ProcessGroup& group, snapshot::CollectiveCall& call) const;
  // Returns the global rank; -1 if it is not in the group, or the members are unknown.
  std::int32_t global_rank(const snapshot::ProcessGroup& group, std::int32_t within) const;

 private:
  const SlimVector<snapshot::ProcessGroup>& groups_;
  const snapshot::Tables& tables_;
};

}  // namespace oddrank::collectives
