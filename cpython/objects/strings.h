// Python's str and bytes objects, as UTF-8 and as bytes.
//
// A str has 1, 2 or 4 bytes a character. Its data follows one of two headers (the shorter one for
// ASCII) or is elsewhere (subclasses of str). Non-ASCII text is common: in file names and names of
// functions.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "cpython/python_memory.h"

namespace oddrank::cpython {

inline constexpr std::size_t kMaxStringLength = 4096;  // characters
inline constexpr std::size_t kMaxNameLength = 128;     // of a variable, a thread or a task
// Line tables of generated code are long.
inline constexpr std::size_t kMaxBytes = std::size_t{1} << 20;

struct PythonString {
  std::string utf8;  // a lone surrogate becomes U+FFFD
  bool cut = false;  // longer than the limit
};

// Returns the text of a str; nullopt if the object is not a str, or cannot be read. Checks its
// type.
std::optional<PythonString> read_string(PythonMemory& memory,
                                        Addr object,
                                        std::size_t limit = kMaxStringLength);

// Returns the memory that holds the characters, for prefetch; size 0 if unknown. Does not check the
// object's type.
PythonMemory::Range string_range(PythonMemory& memory, Addr object);

// Returns the contents of a bytes object; nullopt if the object is not one, cannot be read, or is
// longer than kMaxBytes.
std::optional<std::vector<std::byte>> read_bytes(PythonMemory& memory, Addr object);

// Returns the first bytes, at most `limit`, of a bytes object (or a bytearray) as text: all but
// printable ASCII is escaped, and so are quotes and backslashes. Nullopt if it cannot be read. The
// caller checks the type.
std::optional<PythonString> escaped_bytes(PythonMemory& memory,
                                          Addr object,
                                          bool is_bytearray,
                                          std::size_t limit);

// Appends one code point as UTF-8; U+FFFD for surrogates and values beyond Unicode.
void append_utf8(std::string& text, char32_t code_point);

}  // namespace oddrank::cpython
