// Finds the thread that has to end another thread's wait at a Python object: to put into or take
// from a queue.Queue, set an Event, notify a Condition, release a Semaphore.
//
// Such an object does not record which thread will touch it. But such a thread has the object in a
// variable of one of its frames, or in an attribute of such a variable; or the code of its frames
// names a global variable with the object. Heuristic: a thread may have the object for another
// purpose. So a thread is named only if no other thread has the object without waiting at it; and
// the wait is marked as inferred.
#pragma once

#include <cstddef>
#include <unordered_map>

#include "cpython/python_sample.h"
#include "waits/python/frame_values.h"

namespace oddrank::waits {

// Does nothing in a process with more threads: each waiter's object is searched for in all frames.
inline constexpr std::size_t kMaxSearchedThreads = 1024;

class ObjectProviders {
 public:
  // `python` and `values` must outlive the object.
  ObjectProviders(cpython::PythonSample& python, FrameValues& values)
      : python_(python), values_(values) {}

  // Returns null if the thread does not wait at such an object, or no thread or several could
  // provide what it waits for, or if the process has more than kMaxSearchedThreads Python threads.
  const cpython::SampledThread* find(const cpython::SampledThread& waiter);

  // Returns the same for an object that the waiter polls.
  const cpython::SampledThread* find(const cpython::SampledThread& waiter, attach::Addr object);

  // Returns whether the thread has the object, or something of which it is an attribute.
  bool has_at_hand(const cpython::SampledThread& thread, attach::Addr object);

 private:
  // Returns the object whose method the program called and waits in; null if there is none. Cached,
  // since each thread is compared with each.
  attach::Addr awaited(const cpython::SampledThread& thread);

  cpython::PythonSample& python_;
  FrameValues& values_;
  std::unordered_map<const cpython::SampledThread*, attach::Addr> awaited_;
};

}  // namespace oddrank::waits
