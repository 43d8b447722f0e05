// Python's dicts, from the tables that the target keeps.
//
// A dict is an index table (not needed here: nothing is hashed) and its entries in the order of
// insertion. Instances of one class may share the keys and keep the values apart ("split"). The
// target may change a dict while it is read: what does not fit is left out.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "cpython/layouts/layout.h"
#include "cpython/remote_reader.h"

namespace oddrank::cpython {

inline constexpr std::size_t kItemLimit = 4096;  // of one dict

struct DictItem {
  Addr key{};
  Addr value{};
};

// Items in order; empty if `dict` is no dict or cannot be read. As many entries as `limit` are
// looked at.
std::vector<DictItem> read_dict(RemoteReader& reader,
                                const Layout& layout,
                                Addr dict,
                                std::size_t limit = kItemLimit);

// The items whose keys and values lie apart, as those of instances: `keys` is the table of keys,
// `values` the struct with the values.
std::vector<DictItem> read_split(RemoteReader& reader,
                                 const Layout& layout,
                                 Addr keys,
                                 Addr values,
                                 std::size_t limit = kItemLimit);

// Value of the key that is this str; null if there is none. Reads the keys in batches and stops at
// the one that is looked for.
Addr find_key(RemoteReader& reader,
              const Layout& layout,
              const std::vector<DictItem>& items,
              std::string_view key);

}  // namespace oddrank::cpython
