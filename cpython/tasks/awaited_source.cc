// Sources: Lib/asyncio/futures.py (_chain_future) and Modules/_asynciomodule.c of 3.8 to 3.14;
// python/ray/includes/object_ref.pxi (ObjectRef.future keeps the object in `object_ref`).
#include "cpython/tasks/awaited_source.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "cpython/objects/attributes.h"
#include "cpython/objects/types.h"

namespace oddrank::cpython {
namespace {

// Returns the instances of a type that the first words of an object point to.
std::vector<Addr> pointed_at(PythonMemory& memory,
                             Addr object,
                             std::size_t words,
                             std::string_view type) {
  std::vector<Addr> found;
  for (std::size_t i = 0; i < words; ++i) {
    const Addr value =
        memory.pointer_or_null(object + memory.layout().object.head + i * sizeof(std::uint64_t));
    if (value != Addr{} && type_name(memory, value) == type) {
      found.push_back(value);
    }
  }
  return found;
}

}  // namespace

std::vector<Addr> closure_of(PythonMemory& memory, Addr function) {
  constexpr std::size_t kFunctionWords = 16;
  constexpr std::uint64_t kMaxCells = 16;
  std::vector<Addr> values;
  const auto& object = memory.layout().object;
  for (const Addr tuple : pointed_at(memory, function, kFunctionWords, "tuple")) {
    const auto count = memory.value<std::uint64_t>(tuple + object.size).value_or(0);
    for (std::uint64_t i = 0; i < std::min(count, kMaxCells); ++i) {
      const Addr cell =
          memory.pointer_or_null(tuple + object.tuple_items + i * sizeof(std::uint64_t));
      if (cell != Addr{} && type_name(memory, cell) == "cell") {
        values.push_back(memory.pointer_or_null(cell + object.head));
      }
    }
  }
  return values;
}

std::vector<Addr> objects_of_callback(PythonMemory& memory, Addr future) {
  constexpr std::size_t kFutureWords = 4;  // the loop and the first callback
  std::vector<Addr> objects;
  for (const Addr callback : pointed_at(memory, future, kFutureWords, "function")) {
    for (const Addr value : closure_of(memory, callback)) {
      if (value != Addr{}) {
        objects.push_back(value);
      }
    }
  }
  return objects;
}

std::optional<RayObject> awaited_ray_object(PythonMemory& memory, Addr future) {
  for (const Addr other : objects_of_callback(memory, future)) {
    const Addr object = read_attribute(memory, other, "object_ref");
    if (auto found = object == Addr{} ? std::nullopt : read_ray_object(memory, object)) {
      return found;
    }
  }
  return std::nullopt;
}

}  // namespace oddrank::cpython
