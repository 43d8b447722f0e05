// A dict of the target whose keys are names, for many look-ups: the keys' lengths are read once,
// and only names of the right length are compared.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "cpython/layouts/layout.h"
#include "cpython/objects/dicts.h"
#include "cpython/remote_reader.h"

namespace oddrank::collectives {

class NameTable {
 public:
  // Keeps references to reader and layout.
  NameTable(cpython::RemoteReader& reader,
            const cpython::Layout& layout,
            const std::vector<cpython::DictItem>& items);
  // The names of a module; empty if it is none.
  static NameTable of_module(cpython::RemoteReader& reader,
                             const cpython::Layout& layout,
                             attach::Addr module);
  // sys.modules of an interpreter.
  static NameTable of_modules(cpython::RemoteReader& reader,
                              const cpython::Layout& layout,
                              attach::Addr interpreter);

  // Null if there is none.
  attach::Addr find(std::string_view name) const;
  bool empty() const { return rows_.empty(); }

 private:
  struct Row {
    std::uint64_t length = 0;
    cpython::DictItem item;
  };
  cpython::RemoteReader& reader_;
  const cpython::Layout& layout_;
  std::vector<Row> rows_;
};

}  // namespace oddrank::collectives
