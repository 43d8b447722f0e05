// Python's dicts, read from the tables in the target's memory.
//
// All items are read from the entries, which are in the order of insertion; a single key is found
// by its hash, as Python does it, if this Python's hash is known. Instances of one class may share
// the keys and have separate values ("split"). The target may change a dict while it is read;
// inconsistent items are left out.
//
// The parts of a dict's table of keys (PyDictKeysObject): an index table, into which the hash of a
// key leads, and the entries in the order of insertion.
//
// Up to 3.10 an entry is a hash, a key and a value. From 3.11 on, a table with only str as keys has
// entries without hashes. A table may be shared by the instances of a class ("split"): then their
// values are elsewhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
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

struct DictTable {
  Addr indices{};
  std::uint64_t slots = 0;     // of the index table: a power of two
  std::size_t index_size = 0;  // bytes of an index: 1, 2, 4 or 8
  Addr entries{};
  std::size_t count = 0;  // of entries, removed ones included
  std::size_t stride = 0;
  std::size_t key = 0;  // offset of the key in an entry; the value follows it

  Addr key_at(std::size_t entry) const { return entries + entry * stride + key; }
};

// Returns nullopt if this is not a table, or it cannot be read.
std::optional<DictTable> locate_table(PythonMemory& memory, Addr keys);

// Finds the entry whose key is this str, by its hash. Returns nullopt if this Python's hash is
// unknown; DictTable::count if there is no such key.
std::optional<std::size_t> look_up(PythonMemory& memory,
                                   const DictTable& table,
                                   std::string_view key);

}  // namespace oddrank::cpython
