// Names that Python's `threading` gave to threads: what `_active` of that module says, which maps
// identifiers (pthread_t) to Thread objects.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>

#include "cpython/layouts/layout.h"
#include "cpython/remote_reader.h"

namespace oddrank::cpython {

class ThreadNames {
 public:
  using Names = std::unordered_map<std::uint64_t, std::string>;  // pthread_t -> name

  // Of one interpreter. Empty if `threading` was not imported, or its tables do not look as they
  // should. The place of the table is found once.
  Names read(RemoteReader& reader, const Layout& layout, Addr interpreter);

 private:
  std::map<std::uint64_t, Addr> active_;  // interpreter -> its dict `_active`
};

}  // namespace oddrank::cpython
