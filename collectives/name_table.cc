#include "collectives/name_table.h"

#include "cpython/objects/attributes.h"
#include "cpython/objects/dicts.h"

namespace oddrank::collectives {

using attach::Addr;
using cpython::PythonMemory;

NameTable NameTable::of_module(PythonMemory& memory, Addr module) {
  return {memory, cpython::dict_of_module(memory, module)};
}

NameTable NameTable::of_modules(PythonMemory& memory, Addr interpreter) {
  return {memory, memory.pointer_or_null(interpreter + memory.layout().interpreter.modules)};
}

Addr NameTable::find(std::string_view name) const {
  return cpython::find_in_dict(memory_, dict_, name);
}

}  // namespace oddrank::collectives
