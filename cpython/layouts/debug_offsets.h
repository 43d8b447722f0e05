// `_Py_DebugOffsets`: from 3.13 on, CPython tells at the start of _PyRuntime where its fields lie.
//
// The block is a cookie, the version, and then one 64-bit number for each field, in an order that
// belongs to the minor version (offset_members.h). A version whose order nobody has compared with
// its headers is refused rather than guessed, as are alpha and beta versions.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "base/result.h"
#include "cpython/layouts/layout.h"

namespace oddrank::cpython {

inline constexpr std::size_t kDebugOffsetsHead = 24;    // cookie, version, free_threaded
inline constexpr std::size_t kDebugOffsetsSize = 2048;  // enough of _PyRuntime for every version

// Whether the bytes begin with the cookie.
bool has_debug_offsets(std::span<const std::byte> bytes);

struct DebugOffsets {
  Version version;
  Layout layout;
};

// `bytes`: the start of _PyRuntime. kUnsupported names the version: one whose order of members is
// not known here. kBadData: an offset that cannot be true. What the block does not tell is of the
// constant table of that version. A free-threaded build's version text ends in "t".
Result<DebugOffsets> parse_debug_offsets(std::span<const std::byte> bytes);

// kUnsupported; names the version and those that are known.
Error unsupported_version(const Version& version);

}  // namespace oddrank::cpython
