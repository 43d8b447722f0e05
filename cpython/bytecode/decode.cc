#include "cpython/bytecode/decode.h"

#include <algorithm>

namespace oddrank::cpython {
namespace {

// Returns the unit that the instruction jumps to; nullopt if that is before the code.
std::optional<std::uint64_t> target_unit(const DecodedInstruction& one, bool bytes_jump) {
  const std::uint64_t distance = bytes_jump ? one.argument / 2 : one.argument;
  switch (one.opcode.jump) {
    case JumpTo::kForward:
      return one.end + distance;
    case JumpTo::kAbsolute:
      return distance;
    case JumpTo::kBackward:
      return distance <= one.end ? std::optional(one.end - distance) : std::nullopt;
    default:
      return std::nullopt;
  }
}

bool resolve_jumps(std::vector<DecodedInstruction>& code, bool bytes_jump) {
  for (DecodedInstruction& one : code) {
    if (one.opcode.jump == JumpTo::kNowhere) {
      continue;
    }
    const auto unit = target_unit(one, bytes_jump);
    one.target = unit ? instruction_at(code, *unit) : kNoInstruction;
    if (one.target == kNoInstruction || code[one.target].begin != *unit) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::optional<std::vector<DecodedInstruction>> decode_instructions(
    const Instructions& table, std::span<const std::byte> code) {
  constexpr std::uint32_t kMaxExtended = 3;  // an argument has four bytes
  const std::size_t units = code.size() / 2;
  if (units == 0 || units > kMaxCodeUnits || code.size() % 2 != 0) {
    return std::nullopt;
  }
  std::vector<DecodedInstruction> decoded;
  std::uint32_t begin = 0;
  std::uint32_t argument = 0;
  for (std::uint32_t unit = 0; unit < units; ++unit) {
    const auto number = std::to_integer<std::uint8_t>(code[2 * std::size_t{unit}]);
    const Opcode& opcode = table.of[number];
    argument = argument << 8 | std::to_integer<std::uint32_t>(code[2 * std::size_t{unit} + 1]);
    if (opcode.op == Op::kUnknown || unit - begin > kMaxExtended) {
      return std::nullopt;
    }
    if (opcode.op == Op::kExtendedArg) {
      continue;
    }
    const std::uint32_t end = unit + 1 + opcode.caches;
    if (end > units) {
      return std::nullopt;
    }
    decoded.push_back({opcode, argument, begin, end, kNoInstruction});
    unit = end - 1;
    begin = end;
    argument = 0;
  }
  if (begin != units || !resolve_jumps(decoded, table.bytes_jump)) {
    return std::nullopt;
  }
  return decoded;
}

std::uint32_t instruction_at(std::span<const DecodedInstruction> code, std::uint64_t unit) {
  const auto after = std::upper_bound(
      code.begin(), code.end(), unit,
      [](std::uint64_t at, const DecodedInstruction& one) { return at < one.begin; });
  if (after == code.begin() || unit >= code.back().end) {
    return kNoInstruction;
  }
  return static_cast<std::uint32_t>(after - code.begin() - 1);
}

}  // namespace oddrank::cpython
