// Lines of a report from flight recorders: the last calls of ranks, and their steps.
#pragma once

#include <string>
#include <vector>

#include "aggregate/flight/flight_history.h"
#include "aggregate/flight/past_calls.h"

namespace oddrank::report {

// Returns a line for each set of ranks with equal last calls, a few at most: "rank 2: ...
// all_reduce default #3, all_reduce group 1 #3 (open)".
std::vector<std::string> history_lines(const std::vector<aggregate::CallHistory>& histories);

// Returns "about step 1206 by its own calls, 1 step behind".
std::string step_words(const aggregate::RankStep& step);

// Returns a line for each kind of counted calls in which ranks differ: "rank 3 is at call 4823,
// ranks 0-2 at call 4824 of default group (4 a step: about step 1206)"; for sends and receives,
// whose numbers differ by rank anyway, "rank 3 is in step 5, ranks 0-2 in step 6, ...". At most
// four lines.
std::vector<std::string> skew_lines(const std::vector<aggregate::RankStep>& steps);

}  // namespace oddrank::report
