// The type of the object at an address: its flags and its name.
//
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

// Bits of tp_flags that mark subclasses of builtin types; the same in all versions (object.h).
enum class TypeFlag : std::uint64_t {
  kInt = 1U << 24,
  kList = 1U << 25,
  kTuple = 1U << 26,
  kBytes = 1U << 27,
  kStr = 1U << 28,
  kDict = 1U << 29,
  kType = 1U << 31,
};

// Returns the address in a frame's reference; null for a plain number and for an empty slot.
inline Addr without_tags(const Layout& layout, Addr reference) {
  const std::uint64_t tags = value_of(reference) & layout.semantics.reference_tags;
  const bool number = tags != 0 && tags == layout.semantics.reference_tags;
  return number ? Addr{} : Addr{value_of(reference) - tags};
}

// Returns the address of the object's type; null if it cannot be read.
Addr type_of(PythonMemory& memory, Addr object);

// Returns tp_flags of the object's type; 0 if they cannot be read.
std::uint64_t type_flags(PythonMemory& memory, Addr object);

// Returns whether the object's type has the flag.
bool is_instance(PythonMemory& memory, Addr object, TypeFlag flag);

// Returns tp_name of the object's type: printable ASCII, at most 64 characters ("code", "NoneType",
// "collections.OrderedDict"); "" if it cannot be read.
std::string type_name(PythonMemory& memory, Addr object);

// Returns the same for a type itself.
std::string name_of_type(PythonMemory& memory, Addr type);

// Returns the dict of a type that Python code made; null for others in some versions.
Addr dict_of_type(PythonMemory& memory, Addr type);

// Returns the type's name after its module's: "threading.Event", "builtins.dict"; without the
// module if that cannot be read.
std::string full_name_of_type(PythonMemory& memory, Addr type);

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
