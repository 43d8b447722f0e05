// A TCP connection that a process has open to a process that its agent does not see, of another
// node or another container: its two addresses. The process at the other end has them swapped, so
// the two ends can be matched.
#pragma once

#include "snapshot/ids.h"

namespace oddrank::snapshot {

struct Connection {
  StringId local{};  // "10.0.0.1:43210", "[fe80::1]:80"
  StringId peer{};

  bool operator==(const Connection&) const = default;
};

}  // namespace oddrank::snapshot
