// Where a loop ends: the branches that leave it, and the calls whose results they test.
//
// A thread that polls is in a loop that ends by an answer. If the result of a call does not matter
// to the loop, the call is work.
#pragma once

#include <cstdint>
#include <vector>

#include "cpython/bytecode/code_analysis.h"
#include "cpython/bytecode/loops.h"

namespace oddrank::cpython {

// Returns whether control may leave the loop at this instruction: a branch with one way outside.
bool leaves_loop(const AnalysedCode& code, const CodeLoop& loop, std::uint32_t instruction);

// Returns whether the loop goes on until something raises an exception that it does not handle.
// False for some loops that do: if an exception leads from the loop to a handler outside.
bool is_endless(const AnalysedCode& code, const CodeLoop& loop);

// Returns for each of the code's calls whether the loop may end by its result or its effect: the
// result is tested where the loop ends, is part of what is tested, or is kept in an object; or the
// call is a method of an object that is tested there. True for all calls if some test is unknown.
// (That the loop ends if a call returns at all is another matter: CodeLoop::turning.)
std::vector<bool> calls_that_may_end(const AnalysedCode& code, const CodeLoop& loop);

}  // namespace oddrank::cpython
