// Finds, in the instructions of an unwind table, those that say that the return address is signed
// from here on (DW_CFA_AARCH64_negate_ra_state). What they say is not needed: a signature is seen
// in the address itself.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace oddrank::unwind {

// Returns where these instructions are. Ends at the first that it does not know.
std::vector<std::size_t> signature_marks(std::span<const std::byte> program);

}  // namespace oddrank::unwind
