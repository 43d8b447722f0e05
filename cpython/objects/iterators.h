// How many items an iterator, and so a `for` loop, still has before it.
#pragma once

#include <cstdint>
#include <optional>

#include "cpython/python_memory.h"

namespace oddrank::cpython {

// Returns how many items a range's, list's or tuple's iterator still has to give, also within
// enumerate(). nullopt for any other object, and for numbers beyond 64 bits.
//
// Source: Objects/{rangeobject,listobject,tupleobject,enumobject}.c of 3.8 to 3.15.
std::optional<std::int64_t> items_left(PythonMemory& memory, Addr iterator);

// Returns how many items a list or tuple has from this index on; nullopt for any other object.
std::optional<std::int64_t> items_behind(PythonMemory& memory, Addr sequence, std::int64_t index);

}  // namespace oddrank::cpython
