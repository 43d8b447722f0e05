// Reads the names that Python's `threading` gave to threads, from the module's dict `_active`,
// which maps identifiers (pthread_t) to Thread objects.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>

#include "cpython/python_memory.h"

namespace oddrank::cpython {

class ThreadNames {
 public:
  using Names = std::unordered_map<std::uint64_t, std::string>;  // pthread_t -> name

  // Returns the names in one interpreter. Empty if `threading` was not imported, or its tables are
  // not as expected. Finds each table only once.
  Names read(PythonMemory& memory, Addr interpreter);

 private:
  std::map<std::uint64_t, Addr> active_;  // interpreter -> its dict `_active`
};

}  // namespace oddrank::cpython
