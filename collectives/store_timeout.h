// Reads from memory how long a job's default process group waits for a collective, as given to
// init_process_group(timeout=).
//
// No Python object keeps it. But torch also sets it in the store through which the ranks met
// (distributed_c10d.py, init_process_group: store.set_timeout(timeout)), wraps that store in one or
// more PrefixStores, and keeps the outermost in `_pg_map`. So:
//
//   PrefixStore (Python, pybind11)   head, pointer to the C++ object, pointer of its holder
//   -> c10d::PrefixStore             vtable, reference counts, timeout_, prefix_, store_
//   -> ... -> c10d::TCPStore         vtable, reference counts, timeout_, ...
//
// A PrefixStore passes set_timeout() on and never changes its own timeout_, the default of 300 s,
// which identifies the layout (the counts once took 16 bytes, now 8). If any step looks different,
// there is no result. Seen with 2.13; the order of the fields is that of Store.hpp and
// PrefixStore.hpp. A store that the program itself made has the timeout that it was made with.
#pragma once

#include <chrono>
#include <optional>

#include "cpython/python_memory.h"
#include "cpython/python_process.h"

namespace oddrank::collectives {

// Returns the timeout of the default group. nullopt: there is no such group yet, or it is unknown.
std::optional<std::chrono::milliseconds> read_group_timeout(const cpython::PythonProcess& python);

// Returns the C++ object of a PrefixStore's Python object; null for any other object.
attach::Addr prefix_store_of(cpython::PythonMemory& memory, attach::Addr object);

// Returns the timeout of the store below all PrefixStores. `store`: a c10d::PrefixStore.
std::optional<std::chrono::milliseconds> read_store_timeout(cpython::RemoteReader& reader,
                                                            attach::Addr store);

}  // namespace oddrank::collectives
