// Finds the threads that wait for an asyncio task to end: the one that runs its event loop until
// then (asyncio.run), and one that waits for the future of concurrent.futures to which the task
// gives its result (asyncio.run_coroutine_threadsafe).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "cpython/code_object.h"
#include "cpython/python_memory.h"
#include "cpython/python_sample.h"

namespace oddrank::cpython {

class TaskThreads {
 public:
  // Borrows `memory`. `codes`: of the frames of the threads.
  TaskThreads(PythonMemory& memory,
              const CodeCache& codes,
              const std::vector<SampledThread>& threads);

  // Returns the thread, in the target's pid namespace, that waits for the task; 0 if none is known.
  pid_t waiting_for(Addr task) const;

 private:
  PythonMemory& memory_;
  std::unordered_map<std::uint64_t, pid_t> by_object_;  // task or future that a thread waits for
};

}  // namespace oddrank::cpython
