// `_Py_DebugOffsets`: from 3.13 on, CPython tells at the start of _PyRuntime where its fields lie.
//
// The block is a cookie, the version, and then one 64-bit number for each field, in an order that
// belongs to the minor version (Include/internal/pycore_runtime.h of 3.13, later
// pycore_debug_offsets.h). 3.14 has more members in between; as long as nobody has read a released
// 3.14 with it here, the version is refused rather than guessed.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "base/result.h"
#include "stacks/cpython/layout.h"

namespace oddrank::stacks::cpython {

inline constexpr std::size_t kDebugOffsetsHead = 24;    // cookie, version, free_threaded
inline constexpr std::size_t kDebugOffsetsSize = 1024;  // enough of _PyRuntime for every version

// Whether the bytes begin with the cookie.
bool has_debug_offsets(std::span<const std::byte> bytes);

struct DebugOffsets {
  Version version;
  Layout layout;
};

// `bytes`: the start of _PyRuntime. kUnsupported names the version: one whose order of members is
// not known here, or a free-threaded build. kBadData: an offset that cannot be true. What the block
// does not tell is of the constant table of that version.
Result<DebugOffsets> parse_debug_offsets(std::span<const std::byte> bytes);

}  // namespace oddrank::stacks::cpython
