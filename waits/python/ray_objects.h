// What threads that wait in ray.get() and ray.wait() wait for: results of which actors' methods, of
// tasks, or objects of another kind; and which actor a worker of Ray is.
//
// An object's id (ray.ObjectRef) tells it: 8 bytes for the task that makes it, 16 for the actor
// that runs this, 4 for the number of the result. A task without an actor has 12 bytes 0xff there.
// What is not the result of a task has a high number: it was put into the store, and so is there,
// or it stands for a placement group. (Source: src/ray/common/id.h of Ray 2.9 to 2.60.)
#pragma once

#include <vector>

#include "attach/target.h"
#include "cpython/python_sample.h"
#include "snapshot/process_capture.h"
#include "snapshot/tables.h"
#include "waits/thread_wait.h"

namespace oddrank::waits {

inline constexpr std::size_t kMaxAskedObjects = 4096;  // of one call

// Sets ThreadWait::asked of the threads in such a call, and process.actor; nothing else. `waits`
// has one entry for each of process.threads. Reads nothing if no thread runs Ray's functions.
void read_ray_objects(cpython::PythonSample& python,
                      const std::vector<attach::ThreadState>& states,
                      snapshot::Tables& tables,
                      snapshot::ProcessCapture& process,
                      std::vector<ThreadWait>& waits);

}  // namespace oddrank::waits
