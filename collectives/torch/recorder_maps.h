// The maps of flight recorders: the progress and members of each group, and recorders beside the
// two that variables point to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
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

// Returns the recorders of a std::unordered_map from names of backends to recorders (from 2.15 on,
// nccl2's is in it); empty if it is not such a map. The caller checks them like any others.
std::vector<Addr> registered_recorders(cpython::RemoteReader& reader, Addr registry);

// The size of such a map's head in words: for the search in a library without symbols.
inline constexpr std::size_t kRegistryWords = 7;
// Returns whether these words may be the head of such a map.
bool looks_like_registry(std::span<const std::uint64_t, kRegistryWords> words);

}  // namespace oddrank::collectives
