// Source: DWARF 5, section 7.24; "DWARF for the Arm 64-bit Architecture" (0x2c, 0x2d).
#include "unwind/frame_marks.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace oddrank::unwind {
namespace {

// Operands of an instruction, one letter each: a LEB128 number (n), a block of as many bytes as a
// LEB128 number in front says (b), or as many bytes (1, 2, 4, 8).
struct FrameInstruction {
  std::uint8_t number;
  const char* operands;
};

constexpr std::array kFrameInstructions = std::to_array<FrameInstruction>({
    {0x00, ""},    // nop
    {0x02, "1"},   // advance_loc1
    {0x03, "2"},   // advance_loc2
    {0x04, "4"},   // advance_loc4
    {0x05, "nn"},  // offset_extended
    {0x06, "n"},   // restore_extended
    {0x07, "n"},   // undefined
    {0x08, "n"},   // same_value
    {0x09, "nn"},  // register
    {0x0a, ""},    // remember_state
    {0x0b, ""},    // restore_state
    {0x0c, "nn"},  // def_cfa
    {0x0d, "n"},   // def_cfa_register
    {0x0e, "n"},   // def_cfa_offset
    {0x0f, "b"},   // def_cfa_expression
    {0x10, "nb"},  // expression
    {0x11, "nn"},  // offset_extended_sf
    {0x12, "nn"},  // def_cfa_sf
    {0x13, "n"},   // def_cfa_offset_sf
    {0x14, "nn"},  // val_offset
    {0x15, "nn"},  // val_offset_sf
    {0x16, "nb"},  // val_expression
    {0x1d, "8"},   // advance_loc8
    {0x2c, ""},    // negate_ra_state_with_pc
    {0x2d, ""},    // negate_ra_state
    {0x2e, "n"},   // args_size
    {0x2f, "nn"},  // negative_offset_extended
});

constexpr std::uint8_t kMarkWithPlace = 0x2c;
constexpr std::uint8_t kMark = 0x2d;

// Returns what follows a LEB128 number, and the number in `value`; `bytes.end()` if it is cut.
using CodePlace = std::span<const std::byte>::iterator;
CodePlace skip_number(CodePlace at, CodePlace end, std::uint64_t& value) {
  value = 0;
  for (unsigned shift = 0; at != end; shift += 7) {
    const auto byte = std::to_integer<std::uint8_t>(*at++);
    value |= shift < 64 ? std::uint64_t{byte & 0x7fU} << shift : 0;
    if ((byte & 0x80U) == 0) {
      break;
    }
  }
  return at;
}

CodePlace skip_bytes(CodePlace at, CodePlace end, std::uint64_t count) {
  return at + static_cast<std::ptrdiff_t>(std::min(count, static_cast<std::uint64_t>(end - at)));
}

CodePlace skip_operand(CodePlace at, CodePlace end, char operand) {
  std::uint64_t value = 0;
  if (operand != 'n' && operand != 'b') {
    return skip_bytes(at, end, static_cast<std::uint64_t>(operand - '0'));
  }
  at = skip_number(at, end, value);
  return operand == 'b' ? skip_bytes(at, end, value) : at;
}

}  // namespace

std::vector<std::size_t> signature_marks(std::span<const std::byte> program) {
  constexpr std::uint8_t kShortForms =
      0xc0;  // advance_loc, offset and restore have an operand inside
  constexpr std::uint8_t kShortOffset = 0x80;
  std::vector<std::size_t> marks;
  for (auto at = program.begin(); at != program.end();) {
    const auto place = static_cast<std::size_t>(at - program.begin());
    const auto number = std::to_integer<std::uint8_t>(*at++);
    if ((number & kShortForms) != 0) {
      at = (number & kShortForms) == kShortOffset ? skip_operand(at, program.end(), 'n') : at;
      continue;
    }
    const auto* const found =
        std::find_if(kFrameInstructions.begin(), kFrameInstructions.end(),
                     [number](const FrameInstruction& one) { return one.number == number; });
    if (found == kFrameInstructions.end()) {
      break;
    }
    if (number == kMark || number == kMarkWithPlace) {
      marks.push_back(place);
    }
    for (const char* operand = found->operands; *operand != '\0'; ++operand) {
      at = skip_operand(at, program.end(), *operand);
    }
  }
  return marks;
}

}  // namespace oddrank::unwind
