// Members of Python's sets and lists, and items in a collections.deque or a queue.SimpleQueue, read
// from the target's memory.
#pragma once

#include <cstddef>
#include <vector>

#include "cpython/python_memory.h"

namespace oddrank::cpython {

// Returns the members in the order of the table, at most `limit`. Empty if `set` is not a set or
// frozenset, or cannot be read. If its table is far longer than `limit`, only the first part is
// read.
std::vector<Addr> read_set(PythonMemory& memory, Addr set, std::size_t limit);

// Returns the first items of a deque, at most `limit`. Empty if its type has another name, or it
// cannot be read.
std::vector<Addr> read_deque(PythonMemory& memory, Addr deque, std::size_t limit);

// Returns the first items of a list, at most `limit`. Empty if it is no list, or cannot be read.
std::vector<Addr> read_list(PythonMemory& memory, Addr list, std::size_t limit);

// Returns the items that are still in a queue.SimpleQueue, oldest first, at most `limit`. Empty if
// its type has another name, or it cannot be read.
std::vector<Addr> read_simple_queue(PythonMemory& memory, Addr queue, std::size_t limit);

}  // namespace oddrank::cpython
