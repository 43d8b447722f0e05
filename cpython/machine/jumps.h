// The jumps in machine code. Each machine has its own source, NAME_jumps.cc. Private to cpython/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace oddrank::cpython {

// Returns where the jumps over long distances of some code, which lies at `address`, may lead.
// Where instructions have no fixed size they are not decoded, so some of the results are not jumps.
std::vector<std::uint64_t> jump_targets(std::span<const std::byte> code, std::uint64_t address);

}  // namespace oddrank::cpython
