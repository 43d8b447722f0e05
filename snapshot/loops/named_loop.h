// A loop of a capture (python_loop.h) in the form that loop_polls.h needs.
#pragma once

#include <cstddef>
#include <optional>

#include "snapshot/loops/loop_polls.h"
#include "snapshot/loops/python_loop.h"
#include "snapshot/tables.h"
#include "snapshot/thread_capture.h"
#include "snapshot/thread_sample.h"

namespace oddrank::snapshot {

// Python frames allowed between a loop and the call by which it asks or rests.
inline constexpr std::size_t kMaxRestFrames = 1;

// Borrows the names from the tables.
NamedLoop named_loop(const PythonLoop& loop, const Tables& tables);

// Returns whether the thread is in a system call that only sleeps.
bool sleeps(const ThreadCapture& thread, const Tables& tables);

// What a loop polls for, and by which call.
struct Asked {
  PollOn on = PollOn::kUnknown;
  NamedCall by;
};

// Returns what the thread's innermost loop asks for; an outer loop counts only if the inner one
// just rests. nullopt: it asks for nothing, or the thread is in a function that the loop has called
// for something else. Borrows the names from the tables.
std::optional<Asked> asked_in_loop(const ThreadCapture& thread, const Tables& tables);

// Returns how many Python frames of the thread's last sample are inside of the loop's frame.
std::size_t python_frames_inside(const PythonLoop& loop,
                                 const ThreadSample& last,
                                 const Tables& tables);

}  // namespace oddrank::snapshot
