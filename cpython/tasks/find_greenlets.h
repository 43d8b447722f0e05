// Finds the parked greenlets (gevent, eventlet): they have switched to others and wait for their
// turn.
//
// There is no list of them, so we search the lists of Python's garbage collector for instances of
// greenlet.greenlet. Each keeps its newest frame as a frame object, which we find by its type,
// because the struct around it differs between versions of greenlet (2 and 3 were seen).
// Free-threaded builds have no such lists, and none are known before 3.8.
#pragma once

#include <cstddef>
#include <vector>

#include "cpython/python_memory.h"
#include "cpython/thread_state.h"
#include "elf/module_map.h"

namespace oddrank::cpython {

inline constexpr std::size_t kMaxGreenlets = 4096;
inline constexpr std::size_t kMaxCollectedObjects = std::size_t{1} << 20;  // that are searched

// Returns the newest frame of each parked greenlet, for `read_chains`; none, at once, if greenlet
// was not imported. If the program runs meanwhile, some may be missing.
std::vector<Addr> find_parked_frames(PythonMemory& memory,
                                     const std::vector<InterpreterRow>& interpreters,
                                     const elf::ModuleMap& modules);

}  // namespace oddrank::cpython
