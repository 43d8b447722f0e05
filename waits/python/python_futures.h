// Threads that wait for a future of Python's concurrent.futures, and the thread of a pool that is
// at work on it.
//
// A future does not know which thread will fulfil it. But a thread of a ThreadPoolExecutor has the
// future that it works on in its frame (_WorkItem.run), and the future says whether work on it has
// begun.
#pragma once

#include <optional>

#include "cpython/python_sample.h"
#include "waits/python/frame_values.h"

namespace oddrank::waits {

struct FutureWait {
  bool begun = false;  // a thread has begun with it, or it is done
  // The thread that works on it; may be null.
  const cpython::SampledThread* worker = nullptr;
};

// Returns nullopt if the thread is not in Future.result() or .exception(), as far as can be read.
std::optional<FutureWait> find_future_wait(cpython::PythonSample& python,
                                           FrameValues& values,
                                           const cpython::SampledThread& waiter);

}  // namespace oddrank::waits
