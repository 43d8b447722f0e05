// Finds the locks of Python's multiprocessing in a process's frames, and which of them it has
// acquired.
//
// Such a lock is a POSIX semaphore in shared memory, which stores no owner. But each process has
// its own object for it (SemLockObject of Modules/_multiprocessing/semaphore.c, the same from 3.8
// on), which stores how often this process has acquired and not released it, and by which thread.
// Objects are found through the frames, among their variables and the globals that their code
// names: a lock, one of its methods, a queue that has one, or any object with such an attribute
// (self.lock).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_set>
#include <vector>

#include "cpython/python_sample.h"
#include "waits/python/type_kinds.h"

namespace oddrank::waits {

struct SemaphoreObject {
  std::uint64_t semaphore = 0;   // address of the sem_t
  std::uint64_t last_ident = 0;  // ident of the thread that acquired it last
  std::int32_t count = 0;        // acquired minus released by this process
  bool recursive = false;        // only the thread that holds it can release it
};

class SemaphoreObjects {
 public:
  // `python` must outlive the object.
  explicit SemaphoreObjects(cpython::PythonSample& python)
      : python_(python), kinds_(type_names()) {}

  // Returns the objects that the frames of all threads lead to, each once; bounded.
  std::vector<SemaphoreObject> find();

 private:
  enum class Kind : std::uint8_t { kOther, kSemaphore, kMethod, kLock, kQueue, kCode };

  static std::span<const TypeName<Kind>> type_names();
  Kind kind_of(attach::Addr object) { return kinds_.of(python_, object); }
  attach::Addr second_field(attach::Addr object);
  void add(attach::Addr value, int depth, std::vector<SemaphoreObject>& found);
  void add_object(attach::Addr object, bool is_lock, std::vector<SemaphoreObject>& found);
  void add_values(const std::vector<attach::Addr>& values,
                  std::unordered_set<std::uint64_t>& seen,
                  std::vector<SemaphoreObject>& found);
  std::optional<SemaphoreObject> read(attach::Addr object);

  cpython::PythonSample& python_;
  TypeKinds<Kind> kinds_;
  std::unordered_set<std::uint64_t> known_;  // objects that were found
  std::size_t owners_ = 0;                   // objects whose attributes were read
};

}  // namespace oddrank::waits
