// Coroutines for which something waits: a thread, or a caller in another process, for which they
// run a function as threads of a server do (remote_calls.h): those of asynchronous actors. While
// all of these wait, the thread of their event loop is idle, and one of them speaks for the
// process.
#pragma once

#include <optional>
#include <vector>

#include "aggregate/frames/frame_model.h"
#include "aggregate/view/rank_view.h"
#include "snapshot/process_capture.h"

namespace oddrank::aggregate {

// Returns a sample that stands where the task does.
snapshot::ThreadSample sample_of(const snapshot::AsyncTask& task);

// Tasks of which each waits for the next.
struct TaskWay {
  std::vector<const snapshot::AsyncTask*> tasks;
  bool circle = false;  // the last of them waits for one of them
  bool inside = false;  // the last of them waits for what another one of its process does
};

// Returns the task that the thread waits for, and those for which that one waits; empty if it waits
// for none.
TaskWay tasks_awaited_by(FrameModel& model,
                         const snapshot::ProcessCapture& process,
                         const snapshot::ThreadCapture& thread);

// Tasks that wait for each other: the last one for the first.
struct TaskCircle {
  std::vector<const snapshot::AsyncTask*> tasks;  // empty: none is known
  bool awaited = false;  // the thread waits for them; false: for what any task may bring
};

// Returns the tasks in a circle for which the thread waits; or those of its event loop's, if it
// waits for what another coroutine does. Only waits that must all end count: for a task, for the
// lock of one (of memory), for all of several.
TaskCircle task_circle(FrameModel& model,
                       const snapshot::ProcessCapture& process,
                       const snapshot::ThreadCapture& thread);

// Returns the same of the thread in which the wait of the rank ends.
TaskCircle waiting_tasks(FrameModel& model, const RankView& rank);

// Returns whether nothing ends the wait of the thread's event loop, until which tasks wait for what
// other coroutines do: the loop has no clock, and no file but those by which its own process wakes
// it; all tasks wait so; and no other thread runs Python.
bool waits_for_no_task(FrameModel& model,
                       const snapshot::ProcessCapture& process,
                       const snapshot::ThreadCapture& thread);

// Returns the coroutines of the process that have connections at hand, made up as threads that
// stand where the coroutines do, and wait as they do. Their `tid` is that of their event loop's
// thread, as a negative number; their Python name is the task's.
std::vector<snapshot::ThreadCapture> coroutine_threads(FrameModel& model,
                                                       const snapshot::ProcessCapture& process);

inline bool is_coroutine(const snapshot::ThreadCapture& thread) {
  return thread.tid < 0;
}

struct ServingCoroutine {
  // Made up: the thread of the event loop, as if it stood where the coroutine waits. (The tasks are
  // those of the last sample; whether they moved before, the loop's thread shows.)
  snapshot::ThreadCapture thread;
  TaskWay way;  // from the task that runs the function on
  // All tasks of the process wait for what another coroutine of it does (at a lock, an event, a
  // queue); false: one waits for something else, perhaps for an answer of another process. If all
  // such objects are known, the made-up thread asks for them (RareWaitFacts::asked).
  bool inside = false;
};

// Returns nullopt if no coroutine serves a caller, or if something else of the process may go on: a
// task that runs or sleeps, a thread of the program, a second event loop.
std::optional<ServingCoroutine> find_serving_coroutine(FrameModel& model,
                                                       const snapshot::ProcessCapture& process);

}  // namespace oddrank::aggregate
