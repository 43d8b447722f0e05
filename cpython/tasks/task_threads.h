// Finds the threads that wait for the end of an asyncio task: the one that runs its event loop
// until then (asyncio.run), and one that waits for the task's result in a future of
// concurrent.futures (asyncio.run_coroutine_threadsafe). And the converse: the pool's thread that a
// task waits for (loop.run_in_executor, asyncio.to_thread).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "cpython/code_object.h"
#include "cpython/python_memory.h"
#include "cpython/python_sample.h"
#include "cpython/tasks/await_chain.h"

namespace oddrank::cpython {

// Returns the event loop of asyncio that the frame runs; null if it runs none, or one that is not
// Python code (uvloop). `code`: of the frame.
Addr loop_run_by(PythonMemory& memory, const CodeObject& code, const RawFrame& frame);

class TaskThreads {
 public:
  // Borrows `memory`. `codes`: of the frames of the threads.
  TaskThreads(PythonMemory& memory,
              const CodeCache& codes,
              const std::vector<SampledThread>& threads);

  // Returns the thread, in the target's pid namespace, that waits for the task; 0 if none is known.
  pid_t waiting_for(Addr task) const;

  // Returns the thread, in the target's pid namespace, that works on the job for which the task
  // waits, whose chain this is; 0 if none is known. `codes`: of the chain's frames.
  pid_t working_for(Addr task, const AwaitChain& chain, const CodeCache& codes) const;

  // Returns the thread, in the target's pid namespace, that runs the task's event loop; 0 if none
  // is known.
  pid_t running(Addr task) const;

 private:
  PythonMemory& memory_;
  std::unordered_map<std::uint64_t, pid_t> by_object_;  // a thread waits for this task or future
  // By the future of the job; or by what waits for the job: a future of asyncio, a task of trio.
  std::unordered_map<std::uint64_t, pid_t> workers_;
  std::unordered_map<std::uint64_t, pid_t> loops_;  // by the event loop, or trio's Runner
};

}  // namespace oddrank::cpython
