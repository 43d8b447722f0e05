// What differs between trio's tasks and asyncio's: where they are, and which of their frames are
// about waiting as such. Their coroutines are followed alike (await_chain.h).
//
// trio.run() has a Runner, which has the set of its tasks. All waits end in a few functions of its
// core, so the frame around those tells what a task waits for. In guest mode another event loop
// runs them; the Runner is found while a thread of trio's waits for files on its behalf, as it does
// if no task can run. Which thread runs the tasks is then unknown.
#pragma once

#include <vector>

#include "cpython/code_object.h"
#include "cpython/frame_chain.h"
#include "cpython/python_memory.h"
#include "cpython/python_sample.h"

namespace oddrank::cpython {

// Returns the Runner of the frame of trio.run(); null for other frames. `code`: of the frame.
Addr trio_runner_of(PythonMemory& memory, const CodeObject& code, const RawFrame& frame);

// Returns the tasks of all runners of the threads, at most `limit`.
std::vector<Addr> find_trio_tasks(PythonMemory& memory,
                                  const CodeCache& codes,
                                  const std::vector<SampledThread>& threads,
                                  std::size_t limit);

// Returns whether the frames, innermost first, are those of a task that trio itself starts.
bool is_trios_own(const CodeCache& codes, const std::vector<RawFrame>& frames);

// Removes the innermost frames that are about waiting as such.
void leave_out_trios_waits(const CodeCache& codes, std::vector<RawFrame>& frames);

// Returns the task for which the thread of a pool runs a function, if the frame is that of trio's
// that calls it; null for other frames. `code`: of the frame.
Addr trio_task_of_worker(PythonMemory& memory, const CodeObject& code, const RawFrame& frame);

}  // namespace oddrank::cpython
