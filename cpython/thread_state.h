// The interpreters of a runtime, their thread states and GILs, and which thread holds one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "cpython/layouts/layout.h"
#include "cpython/remote_reader.h"

namespace oddrank::cpython {

inline constexpr std::size_t kInterpreterLimit = 64;
inline constexpr std::size_t kThreadLimit = 4096;  // of all interpreters together

struct InterpreterRow {
  Addr address{};
  std::int64_t id = 0;  // 0 is the main one
  Addr gil{};           // null: none that could be found
  // False: a free-threaded build that runs without it.
  bool gil_enabled = true;
};

struct ThreadStateRow {
  Addr address{};
  std::size_t interpreter = 0;         // index into ThreadStates::interpreters
  Addr newest_frame{};                 // null: it runs no Python code
  std::uint64_t pthread = 0;           // pthread_t
  std::uint64_t native_thread_id = 0;  // as CPython noted it; 0 where the version does not
  bool holds_gil = false;
  Addr native_anchor{};  // 3.11, 3.12: an address on its native stack; the lower, the newer
};

struct ThreadStates {
  std::vector<InterpreterRow> interpreters;  // newest first; the main one is the last
  std::vector<ThreadStateRow> threads;
};

// All interpreters, newest first. Bounded, circles are cut.
std::vector<InterpreterRow> read_interpreters(RemoteReader& reader,
                                              const Layout& layout,
                                              Addr runtime);

// All thread states in the order of CPython's lists (newest first in each interpreter). Lists that
// are longer than the limits, or run in circles, are cut. kBadData if the first thread state does
// not point back to its interpreter: then `runtime` is no runtime of this layout.
Result<ThreadStates> read_thread_states(RemoteReader& reader, const Layout& layout, Addr runtime);

// Thread state that holds the GIL of an interpreter; null if nobody does.
Addr gil_holder(RemoteReader& reader,
                const Layout& layout,
                Addr runtime,
                const InterpreterRow& interpreter);

}  // namespace oddrank::cpython
