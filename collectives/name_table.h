// A dict of the target with names as keys: the globals of a module, or sys.modules.
#pragma once

#include <string_view>

#include "attach/address.h"
#include "cpython/python_memory.h"

namespace oddrank::collectives {

class NameTable {
 public:
  // Returns the names of a module; empty if the object is not a module. `memory` must outlive the
  // table.
  static NameTable of_module(cpython::PythonMemory& memory, attach::Addr module);
  // Returns sys.modules of an interpreter.
  static NameTable of_modules(cpython::PythonMemory& memory, attach::Addr interpreter);

  // Returns the object of that name; null if there is none.
  attach::Addr find(std::string_view name) const;
  bool empty() const { return dict_ == attach::Addr{}; }

 private:
  NameTable(cpython::PythonMemory& memory, attach::Addr dict) : memory_(memory), dict_(dict) {}

  cpython::PythonMemory& memory_;
  attach::Addr dict_{};
};

}  // namespace oddrank::collectives
