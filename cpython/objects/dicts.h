// Python's dicts, read from the tables in the target's memory.
//
// All items are read from the entries, which are in the order of insertion; a single key is found
// by its hash, as Python does it, if this Python's hash is known. Instances of one class may share
// the keys and have separate values ("split"). The target may change a dict while it is read;
// inconsistent items are left out.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "cpython/python_memory.h"

namespace oddrank::cpython {

inline constexpr std::size_t kMaxDictItems = 4096;  // of one dict

struct DictItem {
  Addr key{};
  Addr value{};
};

// Returns the items in order; empty if `dict` is not a dict or cannot be read. Reads at most
// `limit` entries.
std::vector<DictItem> read_dict(PythonMemory& memory, Addr dict, std::size_t limit = kMaxDictItems);

// Returns the items of a split dict, as instances have them: `keys` is the table of keys, `values`
// the struct with the values.
std::vector<DictItem> read_split(PythonMemory& memory,
                                 Addr keys,
                                 Addr values,
                                 std::size_t limit = kMaxDictItems);

// Return the value whose key is this str, in a dict and in a split one; null if there is none.
Addr find_in_dict(PythonMemory& memory, Addr dict, std::string_view key);
Addr find_in_split(PythonMemory& memory, Addr keys, Addr values, std::string_view key);

// Returns the same among items that were read. Reads the keys in batches and stops when it finds
// the key.
Addr find_key(PythonMemory& memory, const std::vector<DictItem>& items, std::string_view key);

}  // namespace oddrank::cpython
