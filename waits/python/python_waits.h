// The waits of a process that runs Python, while they are made more exact by what its Python
// threads have in their frames. Python knows threads by their numbers in the target's pid
// namespace.
#pragma once

#include <cstddef>
#include <vector>

#include "attach/target.h"
#include "cpython/python_sample.h"
#include "snapshot/process_capture.h"
#include "snapshot/tables.h"
#include "waits/thread_wait.h"

namespace oddrank::waits {

struct PythonWaits {
  cpython::PythonSample& python;
  const std::vector<attach::ThreadState>& states;
  snapshot::Tables& tables;
  snapshot::ProcessCapture& process;  // whose stacks and loops have been read
  std::vector<ThreadWait>& waits;     // one for each of process.threads

  // Returns the Python thread of that wait; null if it is not among `states`, or Python does not
  // know it.
  const cpython::SampledThread* thread(std::size_t i) const;
};

inline const cpython::SampledThread* PythonWaits::thread(std::size_t i) const {
  for (const attach::ThreadState& state : states) {
    if (state.tid == process.threads[i].tid) {
      return python.by_tid(state.target_tid);
    }
  }
  return nullptr;
}

}  // namespace oddrank::waits
