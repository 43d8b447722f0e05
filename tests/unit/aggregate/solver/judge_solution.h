// Whether a solution is the truth that trying every world finds (exhaustive.h).
#pragma once

#include <string>

#include "aggregate/solver/solve.h"
#include "aggregate/solver/wait_net.h"

namespace oddrank::aggregate {

// Solves a net of at most kMaxTriedNodes nodes. Returns the first thing that is wrong, and the net; empty if nothing is.
std::string error_in_solution(const WaitNet& net, const Tried& tried);

// Returns the net as a person reads it, a node a line.
std::string words_of(const WaitNet& net);

}  // namespace oddrank::aggregate
