#include "waits/python/lock_objects.h"

#include <algorithm>
#include <array>

#include "cpython/objects/attributes.h"
#include "cpython/objects/strings.h"

namespace oddrank::waits {

using attach::Addr;
using cpython::kPointerSize;

namespace {

constexpr std::uint64_t kLowestAddress = 4096;
constexpr std::string_view kExit = "__exit__";
constexpr std::uint64_t kLocked = 1;  // _Py_LOCKED of a PyMutex (Include/internal/pycore_lock.h)

}  // namespace

Addr LockObjects::field(Addr object, std::size_t index) {
  return memory().pointer_or_null(fields_of(object) + index * kPointerSize);
}

void LockObjects::prefetch(std::span<const Addr> values) {
  constexpr std::size_t kFields = 4;  // as many as are read below
  std::vector<cpython::PythonMemory::Range> ranges;
  ranges.reserve(values.size());
  for (const Addr value : values) {
    ranges.push_back({value, memory().layout().object.head + kFields * kPointerSize});
  }
  memory().prefetch(ranges);
}

std::span<const TypeName<LockObjects::Kind>> LockObjects::type_names() {
  using Name = TypeName<Kind>;
  static constexpr std::array kNames = {
      Name{"_thread.lock", Kind::kLock},
      Name{"_thread.RLock", Kind::kRecursiveLock},
      Name{"builtin_function_or_method", Kind::kBuiltinMethod},
      Name{"method", Kind::kMethod},
      Name{"function", Kind::kFunction},
      Name{"method_descriptor", Kind::kMethodDescriptor},
      Name{"Condition", Kind::kCondition},
  };
  return kNames;
}

// lockobject and rlockobject of Modules/_threadmodule.c: after the header comes a pointer to the
// semaphore, or the mutex itself; in an RLock, owner and count follow in both cases.
std::optional<LockObject> LockObjects::lock_at(Addr object) {
  const Kind kind = kind_of(object);
  if (kind != Kind::kLock && kind != Kind::kRecursiveLock) {
    return std::nullopt;
  }
  const auto first = memory().value<std::uint64_t>(fields_of(object));
  if (!first) {
    return std::nullopt;
  }
  const bool inside = *first < kLowestAddress;
  LockObject lock;
  lock.word = inside ? attach::value_of(fields_of(object)) : *first;
  lock.recursive = kind == Kind::kRecursiveLock;
  if (lock.recursive) {
    lock.owner = attach::value_of(field(object, 1));
    lock.count = attach::value_of(field(object, 2));
    // The mutex does not count the first acquisition.
    lock.count += inside && (*first & kLocked) != 0 ? 1 : 0;
  }
  return lock;
}

std::optional<LockObject> LockObjects::lock_of_self(Addr self) {
  return kind_of(self) == Kind::kCondition
             ? lock_at(cpython::read_attribute(memory(), self, "_lock"))
             : lock_at(self);
}

std::optional<LockObject> LockObjects::lock_of(Addr value) {
  switch (kind_of(value)) {
    case Kind::kLock:
    case Kind::kRecursiveLock:
      return lock_at(value);
    case Kind::kBuiltinMethod:  // PyCFunctionObject: m_ml, then m_self
    case Kind::kMethod:         // PyMethodObject: im_func, then im_self
      return lock_of_self(field(value, 1));
    case Kind::kCondition:
      return lock_of_self(value);
    default:
      return std::nullopt;
  }
}

bool LockObjects::is_text(Addr text, std::string_view wanted) {
  const auto read = cpython::read_string(memory(), text, wanted.size() + 1);
  return read && read->utf8 == wanted;
}

bool LockObjects::is_c_string(Addr text, std::string_view wanted) {
  const auto bytes = memory().bytes(text, wanted.size() + 1);
  return bytes && (*bytes)[wanted.size()] == std::byte{0} &&
         std::equal(wanted.begin(), wanted.end(), bytes->begin(), [](char a, std::byte b) {
           return static_cast<unsigned char>(a) == std::to_integer<unsigned char>(b);
         });
}

bool LockObjects::is_exit(Addr callable) {
  const Kind kind = kind_of(callable);
  if (kind == Kind::kBuiltinMethod) {  // PyMethodDef begins with the name
    return is_c_string(memory().pointer_or_null(field(callable, 0)), kExit);
  }
  if (kind == Kind::kMethodDescriptor) {  // PyDescrObject: d_type, then d_name
    return is_text(field(callable, 1), kExit);
  }
  const Addr function = kind == Kind::kMethod ? field(callable, 0) : callable;
  // PyFunctionObject: its name is the third field from 3.10 on, and was the seventh before; in
  // either place the other version has something that is not a str.
  return kind_of(function) == Kind::kFunction &&
         (is_text(field(function, 2), kExit) || is_text(field(function, 6), kExit));
}

std::vector<LockObject> LockObjects::entered(std::span<const Addr> live) {
  std::vector<LockObject> locks;
  for (std::size_t i = 0; i < live.size(); ++i) {
    std::optional<LockObject> lock;
    const Kind kind = kind_of(live[i]);
    if (kind == Kind::kBuiltinMethod || kind == Kind::kMethod) {
      lock = is_exit(live[i]) ? lock_of(live[i]) : std::nullopt;
    } else if ((kind == Kind::kMethodDescriptor || kind == Kind::kFunction) &&
               i + 1 < live.size()) {
      lock = is_exit(live[i]) ? lock_of_self(live[i + 1]) : std::nullopt;
    }
    if (lock) {
      locks.push_back(*lock);
    }
  }
  return locks;
}

std::uint64_t LockObjects::word_of_futex(std::uint64_t futex) {
  const Addr byte = memory().pointer_or_null(Addr{futex - kPointerSize});
  const Addr object{attach::value_of(byte) - memory().layout().object.head};
  const auto lock = byte == Addr{} ? std::nullopt : lock_at(object);
  return lock && lock->word == attach::value_of(byte) ? lock->word : futex;
}

}  // namespace oddrank::waits
