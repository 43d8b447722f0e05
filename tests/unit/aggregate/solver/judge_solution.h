// Whether a solution says what trying every world finds.
#pragma once

#include <string>

#include "aggregate/solver/solve.h"
#include "tests/unit/aggregate/solver/exhaustive.h"

namespace oddrank::aggregate {

// Returns the first difference between a solution and the truth, or an empty text. They agree if
// their causes are the same, if what is sure is needed in every world and is what is plainly
// needed, if what is needed in some world is possible, and if what no path leads to is not.
std::string first_error(const WaitNet& net, const Tried& tried, const Solution& solution);

// Returns the net as a person reads it, a node a line.
std::string words_of(const WaitNet& net);

}  // namespace oddrank::aggregate
