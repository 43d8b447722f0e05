// The interpreters of a runtime and their thread states, and which thread holds the GIL.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "stacks/cpython/layout.h"
#include "stacks/cpython/remote_reader.h"

namespace oddrank::stacks::cpython {

inline constexpr std::size_t kInterpreterLimit = 64;
inline constexpr std::size_t kThreadLimit = 4096;  // of all interpreters together

struct ThreadStateRow {
  Addr address{};
  Addr newest_frame{};                 // null: it runs no Python code
  std::uint64_t pthread = 0;           // pthread_t
  std::uint64_t native_thread_id = 0;  // as CPython noted it; 0 where the version does not
  bool holds_gil = false;
};

// All thread states in the order of CPython's lists (newest first in each interpreter). Lists that
// are longer than the limits, or run in circles, are cut. kBadData if the first thread state does
// not point back to its interpreter: then `runtime` is no runtime of this layout.
Result<std::vector<ThreadStateRow>> read_thread_states(RemoteReader& reader,
                                                       const Layout& layout,
                                                       Addr runtime);

// Thread state that holds the GIL of an interpreter; null if nobody does.
Addr gil_holder(RemoteReader& reader, const Layout& layout, Addr runtime, Addr interpreter);

// The GIL of the main (last of the list) interpreter; null if it cannot be found.
Addr find_gil(RemoteReader& reader, const Layout& layout, Addr runtime);

}  // namespace oddrank::stacks::cpython
