// What threads wait for in ray.get() and ray.wait(): results of tasks or of certain actors'
// methods, or other objects; and which actor a worker of Ray is (cpython/objects/ray_ids.h).
#pragma once

#include "waits/python/python_waits.h"

namespace oddrank::waits {

inline constexpr std::size_t kMaxAskedObjects = 4096;  // of one call

// Sets ThreadWait::asked of the threads in such a call, and process.actor; nothing else. Reads
// nothing if no thread runs Ray's functions.
void read_ray_objects(PythonWaits& all);

}  // namespace oddrank::waits
