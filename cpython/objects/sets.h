// Members of Python's sets, from the hash table that the target keeps.
#pragma once

#include <cstddef>
#include <vector>

#include "cpython/layouts/layout.h"
#include "cpython/remote_reader.h"

namespace oddrank::cpython {

// In the order of the table; at most `limit`. Empty if `set` is no set (or frozenset), cannot be
// read, or has a table that is far longer than `limit`.
std::vector<Addr> read_set(RemoteReader& reader, const Layout& layout, Addr set, std::size_t limit);

}  // namespace oddrank::cpython
