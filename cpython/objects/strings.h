// Python's str and bytes objects, as UTF-8 and bytes of ours.
//
// A str keeps 1, 2 or 4 bytes a character. Its data follow one of two headers (the shorter one for
// ASCII) or lie elsewhere (subclasses of str). Non-ASCII text is ordinary here: file names, names
// of functions.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "cpython/layouts/layout.h"
#include "cpython/remote_reader.h"

namespace oddrank::cpython {

inline constexpr std::size_t kStringLimit = 4096;  // characters
inline constexpr std::size_t kBytesLimit = std::size_t{1}
                                           << 20;  // line tables of generated code are long

struct PythonString {
  std::string utf8;  // a lone surrogate becomes U+FFFD
  bool cut = false;  // longer than the limit
};

// nullopt: no str, or not readable. Checks the object's type.
std::optional<PythonString> read_string(RemoteReader& reader,
                                        const Layout& layout,
                                        Addr object,
                                        std::size_t limit = kStringLimit);

// The range of memory that holds the characters, for prefetch; size 0 if it cannot be told.
RemoteReader::Range string_range(RemoteReader& reader, const Layout& layout, Addr object);

// nullopt: no bytes object, or not readable, or longer than kBytesLimit.
std::optional<std::vector<std::byte>> read_bytes(RemoteReader& reader,
                                                 const Layout& layout,
                                                 Addr object);

// Appends one code point as UTF-8; U+FFFD for surrogates and what is beyond Unicode.
void append_utf8(std::string& text, char32_t code_point);

}  // namespace oddrank::cpython
