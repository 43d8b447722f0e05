// How long a job's default process group waits for a collective, as given to
// init_process_group(timeout=), read from memory.
//
// No Python object keeps it. But torch also gives it to the store that the ranks met by
// (distributed_c10d.py, init_process_group: store.set_timeout(timeout)), wraps that store in one or
// more PrefixStores, and keeps the outermost in `_pg_map`. So:
//
//   PrefixStore (Python, pybind11)   head, pointer to the C++ object, pointer of its holder
//   -> c10d::PrefixStore             vtable, reference counts, timeout_, prefix_, store_
//   -> ... -> c10d::TCPStore         vtable, reference counts, timeout_, ...
//
// A PrefixStore passes on what it is told and never changes its own timeout_, which is the default
// of 300 s: that is how the layout is recognised (the counts took 16 bytes once, now 8). What does
// not look so in every step gives nothing. Seen with 2.13; the fields' order by Store.hpp and
// PrefixStore.hpp. A store that the program made itself has the timeout that it was made with.
#pragma once

#include <chrono>
#include <optional>

#include "cpython/python_memory.h"
#include "cpython/python_process.h"

namespace oddrank::collectives {

// Of the default group. nullopt: there is none yet, or it cannot be told.
std::optional<std::chrono::milliseconds> read_group_timeout(const cpython::PythonProcess& python);

// The C++ object of a PrefixStore's Python object; null if it is none.
attach::Addr prefix_store_of(cpython::PythonMemory& memory, attach::Addr object);

// `store`: a c10d::PrefixStore. The timeout of the store below all of them.
std::optional<std::chrono::milliseconds> read_store_timeout(cpython::RemoteReader& reader,
                                                            attach::Addr store);

}  // namespace oddrank::collectives
