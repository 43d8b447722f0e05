// Drops threads of large jobs that others of their process stand for. A rank has a hundred threads,
// nearly all of which sleep in pools of libraries, at one place: a verdict needs to see that there
// are such threads, not each of them. Not for a capture that is saved or whose threads are listed.
#pragma once

#include <cstddef>

#include "snapshot/capture.h"

namespace oddrank::snapshot {

// As many of each kind stay, the first ones: code that asks about the other threads beside one of
// them still finds another one.
inline constexpr std::size_t kKeptOfAKind = 2;

// Drops native threads that sleep, have not moved, are in no call, wait for no process that is
// known, are named by no other row of `rows`, and differ from kKeptOfAKind earlier ones of their
// process in nothing but their numbers: tid, counters, address of the lock, and how long they have
// been still. Counts them in ProcessCapture::threads_left_out.
void drop_alike_threads(CaptureRows& rows);

// Returns how many threads were read, be they left out or not.
std::size_t count_threads(const ProcessCapture& process);
std::size_t count_threads(const CaptureRows& rows);

}  // namespace oddrank::snapshot
