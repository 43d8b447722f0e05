// A dict of the target whose keys are names, for many look-ups: the keys' lengths are read once,
// and only names of the right length are compared.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "cpython/objects/dicts.h"
#include "cpython/python_memory.h"

namespace oddrank::collectives {

class NameTable {
 public:
  // `memory` must outlive the table.
  NameTable(cpython::PythonMemory& memory, const std::vector<cpython::DictItem>& items);
  // Returns the names of a module; empty if the object is not a module.
  static NameTable of_module(cpython::PythonMemory& memory, attach::Addr module);
  // Returns sys.modules of an interpreter.
  static NameTable of_modules(cpython::PythonMemory& memory, attach::Addr interpreter);

  // Returns the object of that name; null if there is none.
  attach::Addr find(std::string_view name) const;
  bool empty() const { return rows_.empty(); }

 private:
  struct Row {
    std::uint64_t length = 0;
    cpython::DictItem item;
  };
  cpython::PythonMemory& memory_;
  std::vector<Row> rows_;
};

}  // namespace oddrank::collectives
