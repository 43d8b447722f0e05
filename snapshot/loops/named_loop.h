// What a capture knows of a loop (python_loop.h), in the form that is decided upon (loop_polls.h).
#pragma once

#include <cstddef>
#include <optional>

#include "snapshot/loops/loop_polls.h"
#include "snapshot/loops/python_loop.h"
#include "snapshot/tables.h"
#include "snapshot/thread_capture.h"
#include "snapshot/thread_sample.h"

namespace oddrank::snapshot {

// Python frames between a loop and the call by which it asks or rests.
inline constexpr std::size_t kMaxRestFrames = 1;

// Borrows the names from the tables.
NamedLoop named_loop(const PythonLoop& loop, const Tables& tables);

// Returns whether the thread is in a system call that only sleeps.
bool sleeps(const ThreadCapture& thread, const Tables& tables);

// What a loop of a thread asks for again and again, and by which call.
struct Asked {
  PollOn on = PollOn::kUnknown;
  NamedCall by;
};

// Returns what the loop in which the thread is asks for; loops around it do not count, unless it
// only rests. nullopt: it asks for nothing, or the thread is in a function that it has called for
// something else. Borrows the names from the tables.
std::optional<Asked> asked_in_loop(const ThreadCapture& thread, const Tables& tables);

// Returns how many Python frames of the thread's last sample are further in than the loop.
std::size_t python_frames_inside(const PythonLoop& loop,
                                 const ThreadSample& last,
                                 const Tables& tables);

}  // namespace oddrank::snapshot
