// What threads that wait in ray.get() and ray.wait() wait for: results of which actors' methods, of
// tasks, or objects of another kind; and which actor a worker of Ray is
// (cpython/objects/ray_ids.h).
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
