// How many items an iterator, and so a `for` loop, has left; and how many a container has.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "cpython/python_memory.h"

namespace oddrank::cpython {

// Returns how many items an iterator has left: over a range, list, tuple, dict, set or deque, also
// backwards and within enumerate(), zip() (the shortest one), map() and filter() (at most).
// `of_generator` returns it for generators. nullopt for any other object, and for numbers beyond 64
// bits.
//
// Source: Objects/{rangeobject,listobject,tupleobject,enumobject,dictobject,setobject}.c,
// Python/bltinmodule.c, Modules/_collectionsmodule.c of 3.8 to 3.15.
std::optional<std::int64_t> items_left(
    PythonMemory& memory,
    Addr iterator,
    const std::function<std::optional<std::int64_t>(Addr)>& of_generator);

// Returns how many items a list or tuple has from this index on; nullopt for any other object.
std::optional<std::int64_t> items_behind(PythonMemory& memory, Addr sequence, std::int64_t index);

// Returns how many items a list, tuple, dict, set, frozenset or deque has; nullopt for any other
// object, null included.
std::optional<std::int64_t> length_of(PythonMemory& memory, Addr container);

}  // namespace oddrank::cpython
