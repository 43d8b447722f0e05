// Coroutines that a thread waits for, or that run a function for a caller in another process, like
// threads of a server (remote_calls.h): those of asynchronous actors. While all of them wait, their
// event loop's thread is idle, and one of them speaks for the process.
#pragma once

#include <optional>
#include <vector>

#include "aggregate/frames/frame_model.h"
#include "aggregate/view/rank_view.h"
#include "snapshot/process_capture.h"

namespace oddrank::aggregate {

// Returns a sample with the task's frames.
snapshot::ThreadSample sample_of(const snapshot::AsyncTask& task);

// A chain of tasks: each waits for the next.
struct TaskWay {
  std::vector<const snapshot::AsyncTask*> tasks;
  bool circle = false;  // the last one waits for one of them
  bool inside = false;  // the last one waits for what another task of its process does
};

// Returns the task that the thread waits for, and the tasks that this one waits for in turn; empty
// if it waits for none.
TaskWay tasks_awaited_by(FrameModel& model,
                         const snapshot::ProcessCapture& process,
                         const snapshot::ThreadCapture& thread);

// Tasks that wait for each other: the last one for the first.
struct TaskCircle {
  std::vector<const snapshot::AsyncTask*> tasks;  // empty: none is known
  bool awaited = false;  // the thread waits for these tasks; false: perhaps, or a client does
};

// Returns a circle among the tasks that the thread waits for; or among its event loop's tasks, if
// it waits for what another coroutine does, or if a coroutine that has a client's connection waits
// for the circle. Only waits that must all end count: for a task, for a lock that a task has, for
// all of several tasks.
TaskCircle task_circle(FrameModel& model,
                       const snapshot::ProcessCapture& process,
                       const snapshot::ThreadCapture& thread);

// Returns the same for the thread in which the rank's wait ends.
TaskCircle waiting_tasks(FrameModel& model, const RankView& rank);

// Returns whether nothing ends the wait of the thread's event loop: the loop has no clock, and no
// file but those by which its own process wakes it; all tasks wait for what other coroutines do;
// and no other thread runs Python.
bool waits_for_no_task(FrameModel& model,
                       const snapshot::ProcessCapture& process,
                       const snapshot::ThreadCapture& thread);

// Returns the coroutines of the process that use connections, as made-up threads with their frames
// and waits. A made-up thread's `tid` is minus the tid of the event loop's thread; its Python name
// is the task's. It waits for a lock if what it waits for is in other tasks' hands. Its wait is
// `limited` if the loop's clock is about to ring, and the task waits with a time limit, or for what
// its process does.
std::vector<snapshot::ThreadCapture> coroutine_threads(FrameModel& model,
                                                       const snapshot::ProcessCapture& process);

// Returns whether the thread is one of coroutine_threads().
inline bool is_coroutine(const snapshot::ThreadCapture& thread) {
  return thread.tid < 0;
}

struct ServingCoroutine {
  // Made up: the event loop's thread, as if it stood where the coroutine waits. (The tasks are from
  // the last sample; the loop's thread shows whether they moved before.)
  snapshot::ThreadCapture thread;
  TaskWay way;  // from the task that runs the function
  // All tasks of the process wait for what another of its coroutines does (at a lock, an event, a
  // queue); false: one waits for something else, perhaps for another process. If all such objects
  // are known, the made-up thread asks for them (RareWaitFacts::asked).
  bool inside = false;
};

// Returns nullopt if no coroutine serves a caller, or if something else of the process may go on: a
// task that runs or sleeps, a thread of the program, a second event loop.
std::optional<ServingCoroutine> find_serving_coroutine(FrameModel& model,
                                                       const snapshot::ProcessCapture& process);

}  // namespace oddrank::aggregate
