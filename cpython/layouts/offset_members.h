// The order of the members of `_Py_DebugOffsets` in each minor version. All members are 64-bit
// numbers and follow the block's head (debug_offsets.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace oddrank::cpython {

// Returns one line for each group of members: "tuple size ob_item ob_size". Empty if the order of
// this minor version is unknown.
std::string_view offset_members(std::uint32_t minor);

// Returns the index of a member, such as "tuple.ob_item", in the block; nullopt if the list does
// not have it.
std::optional<std::size_t> member_index(std::string_view members, std::string_view name);

// Returns how many numbers the block has.
std::size_t member_count(std::string_view members);

}  // namespace oddrank::cpython
