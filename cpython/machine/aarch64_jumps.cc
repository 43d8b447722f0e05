#include "cpython/machine/jumps.h"
#include "cpython/remote_reader.h"

namespace oddrank::cpython {
namespace {

// Returns the distance of a jump in bytes; 0 if the word is not a jump. `b` reaches 128 MiB,
// `b.cond`, `cbz` and `cbnz` 1 MiB.
std::int64_t jump_distance(std::uint32_t word) {
  const bool always = (word & 0xfc000000) == 0x14000000;
  const bool conditional = (word & 0xff000010) == 0x54000000;
  const bool by_register = (word & 0x7e000000) == 0x34000000;
  if (!always && !conditional && !by_register) {
    return 0;
  }
  const unsigned bits = always ? 26 : 19;
  const unsigned lowest = always ? 0 : 5;
  const auto shifted = static_cast<std::uint64_t>(word) << (64 - lowest - bits);
  return (static_cast<std::int64_t>(shifted) >> (64 - bits)) * 4;
}

}  // namespace

std::vector<std::uint64_t> jump_targets(std::span<const std::byte> code, std::uint64_t address) {
  constexpr std::size_t kInstructionBytes = 4;
  std::vector<std::uint64_t> targets;
  for (std::size_t i = 0; i + kInstructionBytes <= code.size(); i += kInstructionBytes) {
    if (const std::int64_t distance = jump_distance(number_at<std::uint32_t>(code, i))) {
      targets.push_back(address + i + static_cast<std::uint64_t>(distance));
    }
  }
  return targets;
}

}  // namespace oddrank::cpython
