#include "waits/python/ray_objects.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "cpython/locals.h"
#include "cpython/objects/attributes.h"
#include "cpython/objects/ray_ids.h"
#include "cpython/objects/types.h"

namespace oddrank::waits {
namespace {

using attach::Addr;
using cpython::PythonMemory;
using cpython::PythonSample;
using cpython::RawFrame;

std::vector<Addr> items_of(PythonMemory& memory, Addr list) {
  std::vector<Addr> items;
  if (!cpython::is_instance(memory, list, cpython::TypeFlag::kList)) {
    return items;
  }
  const auto& object = memory.layout().object;
  const auto count = memory.value<std::uint64_t>(list + object.size).value_or(0);
  const Addr first = memory.pointer_or_null(list + object.list_items);
  for (std::uint64_t i = 0; i < std::min<std::uint64_t>(count, kMaxAskedObjects); ++i) {
    items.push_back(memory.pointer_or_null(first + i * sizeof(std::uint64_t)));
  }
  return items;
}

snapshot::AskedObjects asked_in(PythonMemory& memory, Addr list, snapshot::Tables& tables) {
  snapshot::AskedObjects asked;
  std::set<std::string> actors;
  for (const Addr item : items_of(memory, list)) {
    const auto object = cpython::read_ray_object(memory, item);
    if (!object) {
      return {};
    }
    asked.known = true;
    asked.tasks = asked.tasks || object->by == cpython::RayMaker::kTask;
    asked.others = asked.others || object->by == cpython::RayMaker::kNobody;
    if (object->by == cpython::RayMaker::kActor) {
      actors.insert(object->actor);
    }
  }
  if (actors.size() > snapshot::kMaxAskedActors) {
    return {};
  }
  for (const std::string& actor : actors) {
    asked.actors.push_back(tables.string(actor));
  }
  return asked;
}

bool is_of_ray(PythonSample& python, const RawFrame& frame) {
  return python.code(frame).file.ends_with("/ray/_private/worker.py");
}

std::string actor_of(PythonMemory& memory, Addr worker) {
  const auto actors =
      cpython::read_dict(memory, cpython::read_attribute(memory, worker, "actors"), 2);
  return actors.size() != 1 ? std::string()
                            : cpython::read_ray_actor(memory, actors.front().key).value_or("");
}

// Reads what the frame, which is one of Ray's, asks for, and which actor the process is.
void read_ray_frame(PythonMemory& memory,
                    const RawFrame& frame,
                    snapshot::Tables& tables,
                    snapshot::ProcessCapture& process,
                    ThreadWait& wait) {
  for (const std::string_view name : {"object_refs", "ray_waitables"}) {
    if (const Addr list = cpython::read_local(memory, frame, name); list != Addr{}) {
      wait.asked = asked_in(memory, list, tables);
    }
  }
  const Addr worker = cpython::read_local(memory, frame, "self");
  if (process.actor == snapshot::StringId{} && worker != Addr{}) {
    process.actor = tables.string(actor_of(memory, worker));
  }
}

}  // namespace

void read_ray_objects(PythonWaits& all) {
  PythonMemory& memory = all.python.memory();
  for (std::size_t i = 0; i < all.waits.size(); ++i) {
    const auto* thread = all.thread(i);
    if (thread == nullptr) {
      continue;
    }
    for (const RawFrame& frame : thread->frames) {
      if (is_of_ray(all.python, frame) && !all.waits[i].asked.known) {
        read_ray_frame(memory, frame, all.tables, all.process, all.waits[i]);
      }
    }
  }
}

}  // namespace oddrank::waits
