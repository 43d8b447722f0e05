#include "cpython/objects/types.h"

#include "base/ascii.h"

namespace oddrank::cpython {

Addr type_of(PythonMemory& memory, Addr object) {
  return memory.pointer_or_null(object + memory.layout().object.type);
}

std::uint64_t type_flags(PythonMemory& memory, Addr object) {
  const Addr type = type_of(memory, object);
  return memory.value<std::uint64_t>(type + memory.layout().object.type_flags).value_or(0);
}

bool is_instance(PythonMemory& memory, Addr object, TypeFlag flag) {
  return (type_flags(memory, object) & static_cast<std::uint64_t>(flag)) != 0;
}

std::string type_name(PythonMemory& memory, Addr object) {
  return name_of_type(memory, type_of(memory, object));
}

std::string name_of_type(PythonMemory& memory, Addr type) {
  constexpr std::size_t kMaxTypeName = 64;
  const Addr text = memory.pointer_or_null(type + memory.layout().object.type_name);
  std::string name;
  while (name.size() < kMaxTypeName) {
    const auto byte = memory.value<char>(text + name.size());
    if (!byte || *byte == '\0') {
      break;
    }
    name += is_printable_ascii(*byte) ? *byte : '?';
  }
  return name;
}

}  // namespace oddrank::cpython
