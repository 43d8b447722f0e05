// Whether a Python thread is further on than it was in the sample before, by the values of its
// locals: a loop that trains counts its steps, one that waits comes back to the same values.
#pragma once

#include <string_view>

#include "snapshot/tables.h"
#include "snapshot/thread_capture.h"

namespace oddrank::snapshot {

// Returns whether the value is a fraction ("1732.5", "1e-05"). Fractions do not count as a change:
// loops that poll keep the time in such variables. Limit: a time in whole nanoseconds counts.
bool is_fraction(std::string_view value);

// Compares the locals of the last samples of one thread. Frames are paired from the outermost one
// on, as long as they are of the same functions, and variables by their names; a variable that only
// one of them has does not count. Both with ids of `tables`. False if one of them has no locals.
bool locals_changed(const Tables& tables, const ThreadCapture& before, const ThreadCapture& after);

}  // namespace oddrank::snapshot
