// Numbers that name a row of a capture's tables. Distinct types, so that none is taken for another.
#pragma once

#include <cstdint>

namespace oddrank::snapshot {

enum class StringId : std::uint32_t {};  // 0 is the empty string
enum class FrameId : std::uint32_t {};
enum class StackId : std::uint32_t {};  // 0 is the empty stack: "no stack was read"

}  // namespace oddrank::snapshot
