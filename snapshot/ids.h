// Numbers that refer to rows of a capture's tables. The types are distinct, so that they cannot be
// confused.
#pragma once

#include <cstdint>

namespace oddrank::snapshot {

enum class StringId : std::uint32_t {};  // 0 is the empty string
enum class FrameId : std::uint32_t {};
enum class StackId : std::uint32_t {};  // 0 is the empty stack: "no stack was read"

}  // namespace oddrank::snapshot
