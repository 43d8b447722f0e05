// Source: Include/cpython/object.h of 3.8 to 3.15 (PyTypeObject: tp_dict is three words before
// tp_dictoffset).
#include "cpython/objects/types.h"

#include <algorithm>

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

namespace {

constexpr std::size_t kMaxMro = 24;
constexpr std::size_t kMaxClassNames = 512;  // in the dict of a class
constexpr std::size_t kMaxFields = 64;
constexpr std::size_t kMaxSlots = 64;

std::vector<Addr> mro_of(PythonMemory& memory, Addr type) {
  const ObjectOffsets& offsets = memory.layout().object;
  const Addr tuple = memory.pointer_or_null(type + offsets.type_dict_offset + 7 * kPointerSize);
  std::vector<Addr> classes;
  if (!is_instance(memory, tuple, TypeFlag::kTuple)) {
    return {type};
  }
  const auto size = memory.value<std::uint64_t>(tuple + offsets.size).value_or(0);
  for (std::uint64_t i = 0; i < size && i < kMaxMro; ++i) {
    classes.push_back(memory.pointer_or_null(tuple + offsets.tuple_items + i * kPointerSize));
  }
  return classes;
}

Addr dict_of(PythonMemory& memory, Addr type) {
  return memory.pointer_or_null(type + memory.layout().object.type_flags + 12 * kPointerSize);
}

std::string_view last_part(std::string_view name) {
  return name.substr(name.rfind('.') + 1);
}

std::vector<std::string> names_in_tuple(PythonMemory& memory, Addr tuple) {
  const ObjectOffsets& offsets = memory.layout().object;
  std::vector<std::string> names;
  if (!is_instance(memory, tuple, TypeFlag::kTuple)) {
    return names;
  }
  const auto size = memory.value<std::uint64_t>(tuple + offsets.size).value_or(0);
  for (std::uint64_t i = 0; i < size && i < kMaxFields; ++i) {
    const Addr item = memory.pointer_or_null(tuple + offsets.tuple_items + i * kPointerSize);
    const auto name = read_string(memory, item, kMaxNameLength);
    names.push_back(name ? name->utf8 : "?");
  }
  return names;
}

std::vector<std::string> names_in_dict(PythonMemory& memory, Addr dict) {
  std::vector<std::string> names;
  for (const DictItem& item : read_dict(memory, dict, kMaxFields)) {
    if (const auto name = read_string(memory, item.key, kMaxNameLength)) {
      names.push_back(name->utf8);
    }
  }
  return names;
}

bool is_enum(PythonMemory& memory, Addr type) {
  const std::string meta = name_of_type(memory, type_of(memory, type));
  return meta == "EnumType" || meta == "EnumMeta";
}

}  // namespace

const ClassFacts& ClassReader::of(Addr type) {
  const auto [at, is_new] = known_.try_emplace(value_of(type));
  if (is_new) {
    at->second = read(type);
  }
  return at->second;
}

void ClassReader::read_slots(Addr class_dict, ClassFacts& facts) {
  constexpr std::int32_t kObject = 16;  // T_OBJECT_EX
  constexpr std::uint64_t kMaxOffset = 1 << 16;
  const std::size_t head = memory_.layout().object.head;
  for (const DictItem& item : read_dict(memory_, class_dict, kMaxClassNames)) {
    if (facts.slots.size() == kMaxSlots || type_name(memory_, item.value) != "member_descriptor") {
      continue;
    }
    const Addr member = memory_.pointer_or_null(item.value + head + 3 * kPointerSize);
    const auto kind = memory_.value<std::int32_t>(member + kPointerSize);
    const auto offset = memory_.value<std::uint64_t>(member + 2 * kPointerSize);
    const auto name = read_string(memory_, item.key, kMaxNameLength);
    if (kind == kObject && offset && *offset < kMaxOffset && name) {
      facts.slots.push_back({name->utf8, *offset});
    }
  }
}

ClassFacts ClassReader::read(Addr type) {
  ClassFacts facts;
  facts.name = last_part(name_of_type(memory_, type));
  if (is_enum(memory_, type)) {
    facts.kind = ClassKind::kEnum;
    return facts;
  }
  const bool tuple =
      (memory_.value<std::uint64_t>(type + memory_.layout().object.type_flags).value_or(0) &
       static_cast<std::uint64_t>(TypeFlag::kTuple)) != 0;
  for (const Addr base : mro_of(memory_, type)) {
    const std::string name(last_part(name_of_type(memory_, base)));
    const auto note = [&](ClassKind kind) {
      facts.kind = facts.kind == ClassKind::kOther ? kind : facts.kind;
    };
    if (name == "UserDict" || name == "UserList") {
      note(name == "UserDict" ? ClassKind::kUserDict : ClassKind::kUserList);
    } else if (name == "SimpleNamespace" || name == "Namespace") {
      note(ClassKind::kNamespace);
    }
    if (name == "object" || name == "tuple") {
      continue;
    }
    const Addr class_dict = dict_of(memory_, base);
    read_slots(class_dict, facts);
    if (facts.kind != ClassKind::kOther) {
      continue;
    }
    const auto items = read_dict(memory_, class_dict, kMaxClassNames);
    if (const Addr fields = find_key(memory_, items, tuple ? "_fields" : "__dataclass_fields__");
        fields != Addr{}) {
      facts.fields = tuple ? names_in_tuple(memory_, fields) : names_in_dict(memory_, fields);
      note(tuple ? ClassKind::kNamedTuple : ClassKind::kDataclass);
    }
  }
  return facts;
}

}  // namespace oddrank::cpython
