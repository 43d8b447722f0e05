// Builds the sorted index of a file's .eh_frame that the linker usually makes: for static programs,
// which have no .eh_frame_hdr (they register their tables when they start).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace oddrank::unwind {

struct FrameDescription {
  std::uint64_t start = 0;  // first address of its code
  std::uint64_t entry = 0;  // address of the entry (FDE) itself
};

// Builds the index from the bytes of .eh_frame, which lies at `address`; all addresses are the
// file's own. Sorted by start. Skips entries in forms that compilers do not write for x86-64, and
// stops at the first damaged entry. (Linux Standard Base, "Exception Frames".)
std::vector<FrameDescription> index_eh_frame(std::span<const std::byte> section,
                                             std::uint64_t address);

}  // namespace oddrank::unwind
