// `_Py_DebugOffsets`: from 3.13 on, the start of _PyRuntime publishes the offsets of CPython's
// fields.
//
// The block has a cookie, the version, and one 64-bit number for each field, in an order that
// depends on the minor version (offset_members.h). Refused are versions whose order has not been
// compared with their headers, and alpha and beta versions.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "base/result.h"
#include "cpython/layouts/layout.h"

namespace oddrank::cpython {

inline constexpr std::size_t kDebugOffsetsHead = 24;    // cookie, version, free_threaded
inline constexpr std::size_t kDebugOffsetsSize = 2048;  // long enough for every version

// Returns whether the bytes begin with the cookie.
bool has_debug_offsets(std::span<const std::byte> bytes);

struct DebugOffsets {
  Version version;
  Layout layout;
};

// Parses `bytes`, the start of _PyRuntime. The version's constant table has the fields that the
// block lacks. The version text of a free-threaded build ends in "t". kUnsupported: the order of
// members of this version is unknown here; `what` names the version. kBadData: an offset is
// impossible.
Result<DebugOffsets> parse_debug_offsets(std::span<const std::byte> bytes);

// Returns kUnsupported; names the version and the supported ones.
Error unsupported_version(const Version& version);

}  // namespace oddrank::cpython
