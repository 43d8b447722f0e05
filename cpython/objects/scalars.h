// Python's numbers and texts in the form of repr(); also of subclasses: ReduceOp(2).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cpython/python_memory.h"

namespace oddrank::cpython {

// Returns an int (or bool) of at most 60 bits; nullopt if the object is not an int, is longer or
// cannot be read.
std::optional<std::int64_t> read_int(PythonMemory& memory, Addr object);

// Returns "1207", "True" or "ReduceOp(2)". `type`: the name of the object's type. More than
// `max_bits` bits (at most 4096, at least 60): "<int of 300 bits>".
std::string print_int(PythonMemory& memory,
                      Addr object,
                      std::string_view type,
                      std::uint64_t max_bits = 60);

// Returns "0.5", "1e-05", "inf" as repr() does.
std::string float_text(double value);
// Returns the same for 32 bits: the shortest text that reads back as this number.
std::string float_text_32(float value);

// Returns the text in quotes, control characters escaped. `cut`: it goes on.
std::string quoted(std::string_view utf8, bool cut);

}  // namespace oddrank::cpython
