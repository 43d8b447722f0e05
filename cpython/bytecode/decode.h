// The instructions of one code object: decoded, with jumps resolved.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cpython/bytecode/opcodes.h"

namespace oddrank::cpython {

inline constexpr std::size_t kMaxCodeUnits = 16384;  // of two bytes; longer code is not analysed
inline constexpr std::uint32_t kNoInstruction = 0xffffffff;

struct DecodedInstruction {
  Opcode opcode;
  std::uint32_t argument = 0;             // EXTENDED_ARG included
  std::uint32_t begin = 0;                // first unit, with its EXTENDED_ARGs
  std::uint32_t end = 0;                  // after its caches
  std::uint32_t target = kNoInstruction;  // where it jumps: an index into the instructions
};

// Returns all instructions in order. nullopt if the code is longer than kMaxCodeUnits, ends within
// an instruction, has an unknown one, or jumps into the middle of one.
std::optional<std::vector<DecodedInstruction>> decode_instructions(const Instructions& table,
                                                                   std::span<const std::byte> code);

// Returns the index of the instruction that this unit belongs to; kNoInstruction past the end.
std::uint32_t instruction_at(std::span<const DecodedInstruction> code, std::uint64_t unit);

}  // namespace oddrank::cpython
