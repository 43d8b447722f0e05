// Whether a solution says what trying every world finds.
#pragma once

#include <string>

#include "aggregate/solver/solve.h"
#include "tests/unit/aggregate/solver/exhaustive.h"

namespace oddrank::aggregate {

// Returns the first difference between a solution and the truth; empty if there is none. The causes
// are the same; what is sure is needed in every world, and is what is plainly needed; what is
// needed in some world is possible, and what no path leads to is not.
std::string first_error(const WaitNet& net, const Tried& tried, const Solution& solution);

// Returns the net as a person reads it, a node a line.
std::string words_of(const WaitNet& net);

}  // namespace oddrank::aggregate
