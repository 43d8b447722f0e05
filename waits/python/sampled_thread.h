// Finds the Python thread of a thread of the process. Python knows threads by their numbers in the
// target's pid namespace.
#pragma once

#include <sys/types.h>

#include <vector>

#include "attach/target.h"
#include "cpython/python_sample.h"

namespace oddrank::waits {

// Returns null if the thread is not among `states`, or Python does not know it.
inline const cpython::SampledThread* sampled_thread(const cpython::PythonSample& python,
                                                    const std::vector<attach::ThreadState>& states,
                                                    pid_t tid) {
  for (const attach::ThreadState& state : states) {
    if (state.tid == tid) {
      return python.by_tid(state.target_tid);
    }
  }
  return nullptr;
}

}  // namespace oddrank::waits
