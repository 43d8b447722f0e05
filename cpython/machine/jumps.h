// The jumps in machine code. Each machine has its own source, NAME_jumps.cc. Private to cpython/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace oddrank::cpython {

// Returns possible targets of long jumps in code that lies at `address`. Instructions without a
// fixed size are not decoded, so some results are not jumps.
std::vector<std::uint64_t> jump_targets(std::span<const std::byte> code, std::uint64_t address);

}  // namespace oddrank::cpython
