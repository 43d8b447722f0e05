// Decides whether a thread at the same place has advanced since the previous sample: from the
// values of its locals, since a training loop counts its steps, and a waiting loop returns to the
// same values; and from the other sides of its transfers.
#pragma once

#include <string_view>

#include "snapshot/tables.h"
#include "snapshot/thread_capture.h"

namespace oddrank::snapshot {

// Returns whether the value is a fraction ("1732.5", "1e-05"). Fractions do not count as a change:
// polling loops keep the time in such variables. Limit: a time in whole nanoseconds counts.
bool is_fraction(std::string_view value);

// How a thread stands in its last sample, compared with that of an earlier reading.
struct Advance {
  bool changed = false;  // locals of its Python functions have other values
  // A loop that tries something until it succeeds has begun another turn: a function with such a
  // loop is at another line of it, or has counted, and nothing around it has changed. What the
  // thread does within it says nothing then; within one turn, it may be all of its work.
  bool retried = false;
};

// Pairs frames from the outermost inwards while their functions are equal, and variables by name;
// ignores a variable that only one of them has. Both use ids of `tables`.
Advance advance_between(const Tables& tables,
                        const ThreadCapture& before,
                        const ThreadCapture& after);

// Returns whether the thread waits for other ranks in sends or receives than before: some are over,
// or it makes others. False if they are unknown in one of the samples, which may be for want of
// luck.
bool other_sides_changed(const ThreadCapture& before, const ThreadCapture& after);

}  // namespace oddrank::snapshot
