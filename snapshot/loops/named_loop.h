// What a capture knows of a loop (python_loop.h), in the form that is decided upon (loop_polls.h).
#pragma once

#include <cstddef>

#include "snapshot/loops/loop_polls.h"
#include "snapshot/loops/python_loop.h"
#include "snapshot/tables.h"
#include "snapshot/thread_sample.h"

namespace oddrank::snapshot {

// Borrows the names from the tables.
NamedLoop named_loop(const PythonLoop& loop, const Tables& tables);

// Returns how many Python frames of the thread's last sample are further in than the loop.
std::size_t python_frames_inside(const PythonLoop& loop,
                                 const ThreadSample& last,
                                 const Tables& tables);

}  // namespace oddrank::snapshot
