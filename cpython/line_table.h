// Maps an instruction to its source line, in the three formats of CPython's line tables.
//
// Up to 3.9 (co_lnotab) the table is a list of (pc delta, line delta): a line begins at each pc. In
// 3.10 the same pairs are ranges, and a line delta of -128 means that a range has no line.
// From 3.11 on each entry begins with a byte for its kind and length; lines and columns follow as
// variable-length numbers. In all formats, pc deltas are unsigned and line deltas are signed. They
// are described in CPython's Objects/lnotab_notes.txt (up to 3.10) and Objects/locations.md
// (later).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "cpython/layouts/layout.h"

namespace oddrank::cpython {

// Returns the line; 0 if the table has none for this instruction, or is damaged. `offset`: of the
// instruction, in bytes from the start of the code; negative before the first one.
std::uint32_t line_of(LineFormat format,
                      std::span<const std::byte> table,
                      std::int64_t first_line,
                      std::int64_t offset);

}  // namespace oddrank::cpython
