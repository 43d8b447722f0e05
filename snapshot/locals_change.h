// Decides whether a thread at the same place has advanced since the previous sample: by its locals,
// since a training loop counts its steps and a waiting loop returns to the same values; and by the
// other sides of its transfers.
#pragma once

#include <string_view>

#include "snapshot/tables.h"
#include "snapshot/thread_capture.h"

namespace oddrank::snapshot {

// Returns whether the value is a fraction ("1732.5", "1e-05"). Fractions do not count as a change:
// polling loops keep the time in such variables. Limit: a time in whole nanoseconds counts.
bool is_fraction(std::string_view value);

// How a thread has changed since an earlier reading.
struct Advance {
  bool changed = false;  // locals of its Python functions have other values
  // A loop that tries something until it succeeds has begun another turn: its function is at
  // another line of it, or has counted, and nothing around it has changed. Then changes inside of
  // the loop mean nothing; within one turn, they may be all of the thread's work.
  bool retried = false;
};

// Pairs frames from the outermost inwards while their functions are equal, and variables by name;
// ignores a variable that only one of them has. Both use ids of `tables`.
Advance advance_between(const Tables& tables,
                        const ThreadCapture& before,
                        const ThreadCapture& after);

// Returns whether the other sides of the thread's sends or receives have changed: some calls have
// ended, or it makes new ones. False if they are unknown in one of the samples.
bool other_sides_changed(const ThreadCapture& before, const ThreadCapture& after);

}  // namespace oddrank::snapshot
