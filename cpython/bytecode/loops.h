// Loops around a place in a code object.
//
// Loops are found by control flow, not by position: compilers since 3.12 move exception handlers
// behind all other code, even those within loops. A loop is a jump back to a header, and all
// instructions that can reach the jump without passing the header. The loop of an `await` does not
// count.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cpython/bytecode/decode.h"
#include "cpython/bytecode/exception_table.h"

namespace oddrank::cpython {

inline constexpr std::size_t kMaxNestedLoops = 3;  // around one place

struct CodeLoop {
  bool iterates = false;            // a `for` loop
  std::uint32_t header = 0;         // the instruction to which the loop jumps back
  std::vector<std::uint32_t> body;  // instructions in order, the header included
  // Those of the body that lead to the next turn without an exception. A call anywhere else ends
  // the loop if it returns.
  std::vector<std::uint32_t> turning;
};

// Returns the innermost loops around the instruction with this index, innermost first. Gives up
// (returns fewer) if the code has more loops than real code does.
std::vector<CodeLoop> find_loops(std::span<const DecodedInstruction> code,
                                 std::span<const HandlerRange> handlers,
                                 std::uint32_t at);

// Returns whether each turn of the loop ends by an exception, if it leads to a next one: what the
// loop does is tried until it succeeds.
bool goes_on_by_exceptions(std::span<const DecodedInstruction> code, const CodeLoop& loop);

// Returns the instructions through which control may have come to this one since the code was
// entered, and in the present turns of the loops around it, which find_loops() gave: in order.
std::vector<std::uint32_t> passed_before(std::span<const DecodedInstruction> code,
                                         std::span<const HandlerRange> handlers,
                                         std::span<const CodeLoop> loops,
                                         std::uint32_t at);

}  // namespace oddrank::cpython
