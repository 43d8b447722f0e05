// Drops threads that equal others of their process, in large jobs. A rank has a hundred threads,
// and nearly all sleep in pools of libraries, at one place: a verdict needs to see that there are
// such threads, not each of them. Not for a capture that is saved or whose threads are listed.
#pragma once

#include <cstddef>

#include "snapshot/capture.h"

namespace oddrank::snapshot {

// The first ones of each kind stay: two, so that code that asks about other threads beside one of
// them still finds one.
inline constexpr std::size_t kKeptOfAKind = 2;

// Drops native threads that sleep, have not moved, are in no call, wait for no known process, are
// named by no other row of `rows`, and equal kKeptOfAKind earlier ones of their process but for
// their numbers: tid, counters, address of the lock, and how long they have been still. Counts them
// in ProcessCapture::threads_left_out.
void drop_alike_threads(CaptureRows& rows);

// Return how many threads were read, with those that were left out.
std::size_t count_threads(const ProcessCapture& process);
std::size_t count_threads(const CaptureRows& rows);

}  // namespace oddrank::snapshot
