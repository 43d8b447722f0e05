#include "cpython/objects/ray_ids.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "base/hex.h"
#include "cpython/objects/types.h"

namespace oddrank::cpython {
namespace {

constexpr std::uint32_t kFirstPut = 100'000'000;  // number of the first object that no task returns

using ActorId = std::array<std::uint8_t, 16>;
struct ObjectId {
  std::array<std::uint8_t, 8> task;
  ActorId actor;
  std::uint32_t number;
};
static_assert(sizeof(ObjectId) == 28);

// In the object, a table of functions and a hash come first.
template <typename Id>
std::optional<Id> read_id(PythonMemory& memory, Addr object, std::string_view type) {
  return type_name(memory, object).ends_with(type)
             ? memory.value<Id>(object + memory.layout().object.head + 2 * sizeof(std::uint64_t))
             : std::nullopt;
}

std::string digits_of(const ActorId& id) {
  return hex_bytes(std::as_bytes(std::span(id)));
}

bool is_nobody(const ActorId& id) {
  return std::all_of(id.begin(), id.begin() + 12, [](std::uint8_t byte) { return byte == 0xff; });
}

}  // namespace

std::optional<RayObject> read_ray_object(PythonMemory& memory, Addr object) {
  const auto id = read_id<ObjectId>(memory, object, "ObjectRef");
  if (!id) {
    return std::nullopt;
  }
  if (id->number >= kFirstPut) {
    return RayObject{RayMaker::kNobody, ""};
  }
  return is_nobody(id->actor) ? RayObject{RayMaker::kTask, ""}
                              : RayObject{RayMaker::kActor, digits_of(id->actor)};
}

std::optional<std::string> read_ray_actor(PythonMemory& memory, Addr object) {
  const auto id = read_id<ActorId>(memory, object, "ActorID");
  return id ? std::optional(digits_of(*id)) : std::nullopt;
}

}  // namespace oddrank::cpython
