// The exception table of a code object (3.11+): the handler of each range of the code, and how many
// values of the stack are kept.
//
// Source: CPython's Objects/exception_handling_notes.txt.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace oddrank::cpython {

inline constexpr std::size_t kMaxHandlers = 4096;  // rows of one table

// In units of two bytes from the start of the code.
struct HandlerRange {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;  // the first unit after the range
  std::uint32_t handler = 0;
  std::uint32_t depth = 0;          // values that are kept
  bool pushes_instruction = false;  // the handler finds the instruction's index below the exception
};

// Returns the rows in order, at most kMaxHandlers; a damaged row ends them.
std::vector<HandlerRange> read_exception_table(std::span<const std::byte> table);

}  // namespace oddrank::cpython
