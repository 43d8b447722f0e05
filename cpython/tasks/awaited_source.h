// Finds the future of concurrent.futures that an asyncio future or task is chained to, by
// asyncio.wrap_future() (as Ray does for an object that a coroutine awaits) or
// asyncio.run_coroutine_threadsafe().
#pragma once

#include <optional>
#include <vector>

#include "cpython/objects/ray_ids.h"
#include "cpython/python_memory.h"

namespace oddrank::cpython {

// Returns the variables of an outer function that the function uses.
std::vector<Addr> closure_of(PythonMemory& memory, Addr function);

// Returns the objects bound in the first callback of an asyncio future or task: the other future is
// among them, if it is chained to one. Empty if there is no such callback.
std::vector<Addr> objects_of_callback(PythonMemory& memory, Addr future);

// Returns the object of Ray behind the future; nullopt if there is none, or it is unknown.
std::optional<RayObject> awaited_ray_object(PythonMemory& memory, Addr future);

}  // namespace oddrank::cpython
