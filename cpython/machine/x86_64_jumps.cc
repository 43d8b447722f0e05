#include "cpython/machine/jumps.h"
#include "cpython/remote_reader.h"

namespace oddrank::cpython {

std::vector<std::uint64_t> jump_targets(std::span<const std::byte> code, std::uint64_t address) {
  constexpr std::size_t kOperand = 4;
  std::vector<std::uint64_t> targets;
  for (std::size_t i = 0; i + 1 + kOperand < code.size(); ++i) {
    const auto first = std::to_integer<std::uint8_t>(code[i]);
    const auto second = std::to_integer<std::uint8_t>(code[i + 1]);
    const bool conditional = first == 0x0f && second >= 0x80 && second <= 0x8f;
    if (!conditional && first != 0xe9) {
      continue;
    }
    const std::size_t operand = i + (conditional ? 2 : 1);
    const std::int64_t distance = number_at<std::int32_t>(code, operand);
    const std::uint64_t next = address + operand + kOperand;
    targets.push_back(next + static_cast<std::uint64_t>(distance));
  }
  return targets;
}

}  // namespace oddrank::cpython
