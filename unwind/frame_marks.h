// Finds the instructions of an unwind table that mark the return address as signed from there on
// (DW_CFA_AARCH64_negate_ra_state). We skip them: the address itself shows its signature.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace oddrank::unwind {

// Returns their offsets. Stops at the first unknown instruction.
std::vector<std::size_t> signature_marks(std::span<const std::byte> program);

}  // namespace oddrank::unwind
