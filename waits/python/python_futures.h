// Finds threads that wait for a future of Python's concurrent.futures, and the pool thread that
// works on it.
//
// A future does not record which thread will complete it. But a thread of a ThreadPoolExecutor has
// its current future in its frame (_WorkItem.run), and the future records whether work has begun.
#pragma once

#include <optional>

#include "cpython/python_sample.h"
#include "waits/python/frame_values.h"

namespace oddrank::waits {

struct FutureWait {
  bool begun = false;  // a thread has started it, or it is done
  // The thread that works on it; may be null.
  const cpython::SampledThread* worker = nullptr;
};

// Returns nullopt if the thread is not in Future.result() or .exception(), or that cannot be read.
std::optional<FutureWait> find_future_wait(cpython::PythonSample& python,
                                           FrameValues& values,
                                           const cpython::SampledThread& waiter);

// Returns the thread that works on a future; null if it is not known, or if the object is not a
// future.
const cpython::SampledThread* find_future_worker(cpython::PythonSample& python,
                                                 FrameValues& values,
                                                 const cpython::SampledThread& waiter,
                                                 attach::Addr future);

}  // namespace oddrank::waits
