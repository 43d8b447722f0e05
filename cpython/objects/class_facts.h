// The contents of a class's instances beyond their attributes, and their form in repr(): a
// dataclass, a namedtuple, an enum, a wrapper around a dict. Read from the class's own dict and
// from its bases; nothing of the target is executed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cpython/python_memory.h"

namespace oddrank::cpython {

enum class ClassKind : std::uint8_t {
  kOther,
  kDataclass,
  kNamedTuple,
  kEnum,
  kUserDict,   // collections.UserDict: its contents are the attribute `data`
  kUserList,   // collections.UserList: the same
  kNamespace,  // its repr() is its attributes: types.SimpleNamespace, argparse.Namespace
};

// An attribute with a fixed place in the instances: a name in __slots__.
struct ClassSlot {
  std::string name;
  std::uint64_t offset = 0;  // in the instance
};

struct ClassFacts {
  ClassKind kind = ClassKind::kOther;
  std::string name;                 // without the module
  std::vector<std::string> fields;  // of dataclasses and namedtuples, in their order; bounded
  std::vector<ClassSlot> slots;     // bounded
};

class ClassReader {
 public:
  // `memory` must outlive the reader.
  explicit ClassReader(PythonMemory& memory) : memory_(memory) {}

  // Reads the class once; the reference stays valid.
  const ClassFacts& of(Addr type);

 private:
  ClassFacts read(Addr type);
  void read_slots(Addr class_dict, ClassFacts& facts);

  PythonMemory& memory_;
  std::unordered_map<std::uint64_t, ClassFacts> known_;
};

}  // namespace oddrank::cpython
