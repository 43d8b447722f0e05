// What threads wait for in ray.get() and ray.wait(): results of tasks or of certain actors'
// methods, or other objects; and which actor a worker of Ray is (cpython/objects/ray_ids.h).
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
