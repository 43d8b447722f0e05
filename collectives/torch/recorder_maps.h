// The two maps of a flight recorder: how far each group has got, and who its members are.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "collectives/torch/cxx_object.h"

namespace oddrank::collectives {

// Numbers of collectives in a group; the recorder notes them later than the calls themselves.
struct GroupStatus {
  std::int64_t enqueued = -1;
  std::int64_t started = -1;
  std::int64_t completed = -1;
};

// Finds a group's row. `map`: std::map of shared pointers, by the group's number in the process.
std::optional<GroupStatus> read_group_status(cpython::RemoteReader& reader,
                                             Addr map,
                                             std::uint64_t group);

struct RecordedMembers {
  std::string name;
  std::string description;
  std::vector<std::int32_t> ranks;  // global, ascending
};

// Returns all rows of the map from groups to members; empty if it is damaged. NCCL's groups are in
// it, gloo's are not.
std::vector<RecordedMembers> read_recorded_members(cpython::RemoteReader& reader,
                                                   Addr map,
                                                   StringAbi abi);

}  // namespace oddrank::collectives
