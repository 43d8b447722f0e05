// Strings from a target's memory, bounded.
#pragma once

#include <cstddef>
#include <string>

#include "attach/target.h"

namespace oddrank::waits {

// Reads the zero-terminated string at `address`, cut at `limit` bytes. Empty if no byte of it can
// be read. Bytes below 0x20 and 0x7f become '?', since the text goes to a terminal.
std::string read_c_string(const attach::Target& target,
                          attach::Addr address,
                          std::size_t limit = 4096);

}  // namespace oddrank::waits
