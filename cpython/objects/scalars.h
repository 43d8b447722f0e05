// Python's numbers and texts in the form of repr(); also of subclasses: ReduceOp(2).
//
// Objects of builtin types and of PyTorch that are not containers, as text: None, complex numbers,
// ranges, functions, classes, modules, torch.dtype and torch.device.
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

// Returns "1207", "True" or "ReduceOp(2)". `type`: the name of the object's type. An
// int of more than `max_bits` bits (60 to 4096) becomes "<int of 300 bits>".
std::string print_int(PythonMemory& memory,
                      Addr object,
                      std::string_view type,
                      std::uint64_t max_bits = 60);

// Returns "0.5", "1e-05", "inf" as repr() does.
std::string float_text(double value);
// Returns the same for 32 bits: the shortest text that reads back as this number.
std::string float_text_32(float value);

// Returns the text in quotes, control characters escaped. `cut`: the text was cut,
// so "..." follows.
std::string quoted(std::string_view utf8, bool cut);

// Returns "None" · "(1+2j)" · "range(0, 10)" · "slice(0, 4, None)" · "<function Trainer.step>" ·
// "<class Trainer>" · "<module torch>" · "torch.float32" · "device('cuda:0')". Returns "" if the
// object is none of these, or cannot be read. `flags`, `type`: flags and name of its type.
std::string print_small(PythonMemory& memory,
                        Addr object,
                        std::uint64_t flags,
                        std::string_view type);

}  // namespace oddrank::cpython
