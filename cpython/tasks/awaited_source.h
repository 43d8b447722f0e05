// Finds what an asyncio future stands for if asyncio.wrap_future() has made it for a future of
// concurrent.futures, as Ray does for an object that a coroutine awaits.
#pragma once

#include <optional>

#include "cpython/objects/ray_ids.h"
#include "cpython/python_memory.h"

namespace oddrank::cpython {

// Returns the object of Ray for which the future stands; nullopt if it stands for something else,
// or that is not known.
std::optional<RayObject> awaited_ray_object(PythonMemory& memory, Addr future);

}  // namespace oddrank::cpython
