// Loops around a place in a code object.
//
// Loops are found by control flow, not by position: compilers since 3.12 move all exception
// handlers to the end of the code, even out of loops. A loop is a jump back to a header, and all
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
  // Instructions of the body that lead to the next turn without an exception. A call anywhere else
  // ends the loop if it returns.
  std::vector<std::uint32_t> turning;
};

// Returns the innermost loops around the instruction with this index, innermost first. Gives up
// (returns fewer) if the code has more loops than real code does.
std::vector<CodeLoop> find_loops(std::span<const DecodedInstruction> code,
                                 std::span<const HandlerRange> handlers,
                                 std::uint32_t at);

// Returns whether only an exception leads to the loop's next turn: the loop tries something until
// it succeeds.
bool goes_on_by_exceptions(std::span<const DecodedInstruction> code, const CodeLoop& loop);

// Returns the instructions, in order, that control may have passed on its way to this one, since
// the code was entered and within the present turns of the loops around it (from find_loops()).
std::vector<std::uint32_t> passed_before(std::span<const DecodedInstruction> code,
                                         std::span<const HandlerRange> handlers,
                                         std::span<const CodeLoop> loops,
                                         std::uint32_t at);

// Returns whether control cannot have come to `at` without `through`, in the sense of
// passed_before().
bool is_always_passed(std::span<const DecodedInstruction> code,
                      std::span<const HandlerRange> handlers,
                      std::span<const CodeLoop> loops,
                      std::uint32_t through,
                      std::uint32_t at);

}  // namespace oddrank::cpython
