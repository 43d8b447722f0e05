// A dict of the target whose keys are names, for many look-ups: the keys' lengths are read once,
// and only names of the right length are compared.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "stacks/cpython/dicts.h"
#include "stacks/cpython/layout.h"
#include "stacks/cpython/remote_reader.h"

namespace oddrank::collectives {

class NameTable {
 public:
  // Keeps references to reader and layout.
  NameTable(stacks::cpython::RemoteReader& reader,
            const stacks::cpython::Layout& layout,
            const std::vector<stacks::cpython::DictItem>& items);
  // The names of a module; empty if it is none.
  static NameTable of_module(stacks::cpython::RemoteReader& reader,
                             const stacks::cpython::Layout& layout,
                             attach::Addr module);
  // sys.modules of an interpreter.
  static NameTable of_modules(stacks::cpython::RemoteReader& reader,
                              const stacks::cpython::Layout& layout,
                              attach::Addr interpreter);

  // Null if there is none.
  attach::Addr find(std::string_view name) const;
  bool empty() const { return rows_.empty(); }

 private:
  struct Row {
    std::uint64_t length = 0;
    stacks::cpython::DictItem item;
  };
  stacks::cpython::RemoteReader& reader_;
  const stacks::cpython::Layout& layout_;
  std::vector<Row> rows_;
};

}  // namespace oddrank::collectives
