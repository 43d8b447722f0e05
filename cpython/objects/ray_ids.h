// Ids of Ray, which are objects of Cython classes: which actor or task makes an object
// (ray.ObjectRef), and the actor of an ActorID.
//
// An object's id has 8 bytes for the task that makes it, 16 for the actor that runs the task, 4 for
// the number of the result. A task without an actor has 12 bytes 0xff there. An object that is not
// a task's result has a high number: it was put into the store, so it exists; or it stands for a
// placement group. (Source: src/ray/common/id.h; seen with Ray 2.60.)
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cpython/python_memory.h"

namespace oddrank::cpython {

enum class RayMaker : std::uint8_t { kActor, kTask, kNobody };

struct RayObject {
  RayMaker by = RayMaker::kNobody;
  std::string actor;  // kActor: its id in hexadecimal digits
};

// Return nullopt if the object is not such an id.
std::optional<RayObject> read_ray_object(PythonMemory& memory, Addr object);
std::optional<std::string> read_ray_actor(PythonMemory& memory, Addr object);

}  // namespace oddrank::cpython
