// Python frames that no thread runs now: of an unfinished task of asyncio or trio, with what it
// waits for; of a parked greenlet; of a thread that is not there any more.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "snapshot/ids.h"
#include "snapshot/wait.h"

namespace oddrank::snapshot {

enum class TaskState : std::uint8_t {
  kUnknown = 0,
  kNotStarted,
  kWaits,
  kRuns,    // in some thread, whose stack has its frames
  kParked,  // a greenlet, which has only frames
  // A thread of the parent, left behind by a fork() that Python did not notice; it has a name (of
  // threading.Thread) and frames.
  kLeftBehind,
};

struct AsyncTask {
  StringId name{};  // "Task-7", or as the program named it; empty = unknown
  TaskState state = TaskState::kUnknown;
  bool trio = false;  // a task of trio; else of asyncio
  // Its coroutine and the coroutines that this one awaits, innermost first; only the former if the
  // task runs.
  StackId stack{};
  // What the innermost of them awaits: the name of a task, perhaps because that task has the wanted
  // asyncio.Lock, or a type in angle brackets ("<Future>"); empty = neither.
  StringId awaits{};
  // If it awaits a future that waits for others (asyncio.gather, wait, a TaskGroup): the unfinished
  // ones, tasks first, each like `awaits`.
  std::vector<StringId> members;
  pid_t tid = 0;       // the thread that waits for this task to end; 0: none, or unknown
  pid_t worker = 0;    // the thread of a pool whose work it waits for; 0: none, or unknown
  pid_t loop = 0;      // the thread that runs its event loop; 0: unknown
  AskedObjects asked;  // behind the future that it awaits
  SlimVector<KeptSocket> sockets;  // the connections in its variables
  bool at_socket = false;          // it waits at the first of them

  bool operator==(const AsyncTask&) const = default;
};

}  // namespace oddrank::snapshot
