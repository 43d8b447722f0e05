// Finds the thread that is to provide what another thread waits for at a Python object: the item or
// the room of a queue.Queue, the setting of an Event, the notice of a Condition, the release of a
// Semaphore.
//
// Such an object does not record who will touch it. But a thread that will has it at hand: in a
// variable of one of its frames, or in an attribute of such a variable. Heuristic: a global
// variable is not seen, and a thread may have the object for another purpose. So a thread is named
// only if it is the only one that has the object and does not wait at it, too; and the wait is
// marked as inferred.
#pragma once

#include <cstddef>

#include "cpython/python_sample.h"
#include "waits/python/frame_values.h"

namespace oddrank::waits {

// Each waiter's object is looked for in the frames of all threads: not in a process with more.
inline constexpr std::size_t kMaxSearchedThreads = 1024;

// Returns null if the thread does not wait at such an object, or no thread or several could provide
// what it waits for, or if the process has more than kMaxSearchedThreads Python threads.
const cpython::SampledThread* find_provider(cpython::PythonSample& python,
                                            FrameValues& values,
                                            const cpython::SampledThread& waiter);

// Returns the same for an object that the waiter looks at again and again.
const cpython::SampledThread* find_provider_of(cpython::PythonSample& python,
                                               FrameValues& values,
                                               const cpython::SampledThread& waiter,
                                               attach::Addr object);

}  // namespace oddrank::waits
