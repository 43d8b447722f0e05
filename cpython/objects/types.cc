// Source: Include/cpython/object.h of 3.8 to 3.15 (PyTypeObject: tp_dict is three words before
// tp_dictoffset).
#include "cpython/objects/types.h"

#include "base/ascii.h"
#include "cpython/objects/dicts.h"
#include "cpython/objects/strings.h"

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

Addr dict_of_type(PythonMemory& memory, Addr type) {
  constexpr std::uint64_t kDictBeforeOffset = 3 * sizeof(std::uint64_t);
  return memory.pointer_or_null(type +
                                (memory.layout().object.type_dict_offset - kDictBeforeOffset));
}

std::string full_name_of_type(PythonMemory& memory, Addr type) {
  constexpr std::uint64_t kHeapType = std::uint64_t{1} << 9;
  std::string name = name_of_type(memory, type);
  if (name.empty() || name.find('.') != std::string::npos) {
    return name;
  }
  const auto flags = memory.value<std::uint64_t>(type + memory.layout().object.type_flags);
  if ((flags.value_or(0) & kHeapType) == 0) {
    return "builtins." + name;
  }
  const auto module =
      read_string(memory, find_in_dict(memory, dict_of_type(memory, type), "__module__"));
  return module ? module->utf8 + "." + name : name;
}

}  // namespace oddrank::cpython
