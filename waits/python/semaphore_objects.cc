#include "waits/python/semaphore_objects.h"

#include <array>
#include <string_view>
#include <unordered_set>

#include "cpython/locals.h"
#include "cpython/objects/attributes.h"
#include "waits/python/frame_values.h"

namespace oddrank::waits {

using attach::Addr;
using cpython::kPointerSize;

namespace {

constexpr std::size_t kMaxFrames = 4096;      // of all threads together
constexpr std::size_t kMaxValues = 65536;     // likewise
constexpr int kMaxFieldDepth = 3;             // method -> queue -> lock
constexpr std::size_t kMaxLockOwners = 1024;  // objects of other kinds, whose attributes are read

struct Fields {  // of SemLockObject, after the object's header
  std::uint64_t handle;
  std::uint64_t last_tid;
  std::int32_t count;
  std::int32_t maxvalue;
  std::int32_t kind;
};
constexpr std::int32_t kRecursiveMutex = 0;

}  // namespace

std::span<const TypeName<SemaphoreObjects::Kind>> SemaphoreObjects::type_names() {
  using Name = TypeName<Kind>;
  // Classes of multiprocessing.synchronize and multiprocessing.queues; others of these names have
  // no such attributes.
  static constexpr std::array kNames = {
      Name{"_multiprocessing.SemLock", Kind::kSemaphore},
      Name{"builtin_function_or_method", Kind::kMethod},
      Name{"method", Kind::kMethod},
      Name{"Lock", Kind::kLock},
      Name{"RLock", Kind::kLock},
      Name{"Queue", Kind::kQueue},
      Name{"JoinableQueue", Kind::kQueue},
      Name{"SimpleQueue", Kind::kQueue},
      Name{"Condition", Kind::kQueue},
      Name{"Synchronized", Kind::kQueue},
      Name{"SynchronizedArray", Kind::kQueue},
      // Most globals, with many attributes.
      Name{"module", Kind::kCode},
      Name{"function", Kind::kCode},
      Name{"type", Kind::kCode},
  };
  return kNames;
}

// Returns m_self of a builtin method, im_self of another.
Addr SemaphoreObjects::second_field(Addr object) {
  return python_.memory().pointer_or_null(object + python_.memory().layout().object.head +
                                          kPointerSize);
}

std::optional<SemaphoreObject> SemaphoreObjects::read(Addr object) {
  const auto fields =
      python_.memory().value<Fields>(object + python_.memory().layout().object.head);
  if (!fields || fields->handle == 0 || fields->maxvalue != 1) {
    return std::nullopt;
  }
  return SemaphoreObject{fields->handle, fields->last_tid, fields->count,
                         fields->kind == kRecursiveMutex};
}

void SemaphoreObjects::add(Addr value, int depth, std::vector<SemaphoreObject>& found) {
  if (value == Addr{} || depth == 0) {
    return;
  }
  const auto attribute = [&](std::string_view name) {
    return cpython::read_attribute(python_.memory(), value, name);
  };
  switch (kind_of(value)) {
    case Kind::kSemaphore:
      add_object(value, false, found);
      break;
    case Kind::kMethod:
      add(second_field(value), depth - 1, found);
      break;
    case Kind::kLock:
      add_object(attribute("_semlock"), true, found);
      break;
    case Kind::kQueue:
      for (const std::string_view name : {"_rlock", "_wlock", "_lock"}) {
        add(attribute(name), depth - 1, found);
      }
      break;
    case Kind::kOther:
    case Kind::kCode:
      break;
  }
}

// A lock's object looks like a semaphore with the value one; only a recursive one is certainly a
// lock.
void SemaphoreObjects::add_object(Addr object, bool is_lock, std::vector<SemaphoreObject>& found) {
  if (kind_of(object) != Kind::kSemaphore) {
    return;
  }
  const auto read = this->read(object);
  if (read && (is_lock || read->recursive) && known_.insert(attach::value_of(object)).second) {
    found.push_back(*read);
  }
}

void SemaphoreObjects::add_values(const std::vector<Addr>& values,
                                  std::unordered_set<std::uint64_t>& seen,
                                  std::vector<SemaphoreObject>& found) {
  for (const Addr value : values) {
    if (!seen.insert(attach::value_of(value)).second) {
      continue;
    }
    if (kind_of(value) != Kind::kOther) {
      add(value, kMaxFieldDepth, found);
    } else if (owners_++ < kMaxLockOwners) {
      for (const auto& item : cpython::read_attributes(python_.memory(), value)) {
        add(item.value, kMaxFieldDepth, found);
      }
    }
  }
}

std::vector<SemaphoreObject> SemaphoreObjects::find() {
  FrameValues values(python_);
  std::unordered_set<std::uint64_t> seen;
  std::unordered_set<std::uint64_t> codes;  // whose globals were looked at
  std::vector<SemaphoreObject> found;
  std::size_t budget = kMaxFrames;
  for (const cpython::SampledThread& thread : python_.threads()) {
    for (const cpython::RawFrame& frame : thread.frames) {
      if (budget-- == 0 || seen.size() > kMaxValues) {
        return found;
      }
      add_values(values.all(frame), seen, found);
      if (codes.insert(attach::value_of(frame.code)).second) {
        add_values(cpython::read_named_globals(python_.memory(), frame), seen, found);
      }
    }
  }
  return found;
}

}  // namespace oddrank::waits
