// Lock objects of CPython's _thread module, found through any value of a frame that leads to one.
//
// Up to 3.13 such a lock is a semaphore on the heap, and its futex word is the semaphore. From 3.14
// on it is a byte within the object, and a thread that wants it sleeps on its own semaphore, which
// lies on its stack after the byte's address (Python/parking_lot.c: struct wait_entry). The memory,
// not the version, shows which of the two it is.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "cpython/python_sample.h"
#include "waits/python/type_kinds.h"

namespace oddrank::waits {

struct LockObject {
  std::uint64_t word = 0;  // identifies the lock: address of the semaphore, or of the byte
  bool recursive = false;
  std::uint64_t owner = 0;  // RLock: ident of the thread; 0 = none
  std::uint64_t count = 0;  // RLock: how often it was acquired
};

class LockObjects {
 public:
  // `python` must outlive the object.
  explicit LockObjects(cpython::PythonSample& python) : python_(python), kinds_(type_names()) {}

  // Fetches what lock_of will read for these values, in one system call.
  void prefetch(std::span<const attach::Addr> values);

  // Returns the lock that a value leads to: a lock, a Condition's lock, or the lock of either of
  // them behind a bound method.
  std::optional<LockObject> lock_of(attach::Addr value);

  // Returns the locks whose `with` is in progress, by the values in use on a frame's stack: a bound
  // __exit__; from 3.14 on, __exit__ and the object after it.
  std::vector<LockObject> entered(std::span<const attach::Addr> live);

  // Returns the LockObject::word that a thread wants if it sleeps on this futex word.
  std::uint64_t word_of_futex(std::uint64_t futex);

 private:
  enum class Kind : std::uint8_t {
    kOther,
    kLock,
    kRecursiveLock,
    kBuiltinMethod,
    kMethod,
    kFunction,
    kMethodDescriptor,
    kCondition,
  };

  cpython::PythonMemory& memory() { return python_.memory(); }
  attach::Addr fields_of(attach::Addr object) { return object + memory().layout().object.head; }
  attach::Addr field(attach::Addr object, std::size_t index);

  static std::span<const TypeName<Kind>> type_names();
  Kind kind_of(attach::Addr object) { return kinds_.of(python_, object); }
  std::optional<LockObject> lock_at(attach::Addr object);
  std::optional<LockObject> lock_of_self(attach::Addr self);
  bool is_exit(attach::Addr callable);
  bool is_text(attach::Addr text, std::string_view wanted);
  bool is_c_string(attach::Addr text, std::string_view wanted);

  cpython::PythonSample& python_;
  TypeKinds<Kind> kinds_;
};

}  // namespace oddrank::waits
