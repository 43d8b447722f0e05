// What kind of object a pointer leads to: the flags and the name of its type.
#pragma once

#include <cstdint>
#include <string>

#include "cpython/layouts/layout.h"
#include "cpython/remote_reader.h"

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

// A reference as frames keep it, as an address; null for a plain number and for "nothing here".
inline Addr without_tags(const Layout& layout, Addr reference) {
  const std::uint64_t tags = value_of(reference) & layout.semantics.reference_tags;
  const bool number = tags != 0 && tags == layout.semantics.reference_tags;
  return number ? Addr{} : Addr{value_of(reference) - tags};
}

// Address of the object's type; null if it cannot be read.
Addr type_of(RemoteReader& reader, const Layout& layout, Addr object);

// tp_flags of the object's type; 0 if they cannot be read.
std::uint64_t type_flags(RemoteReader& reader, const Layout& layout, Addr object);

bool is_instance(RemoteReader& reader, const Layout& layout, Addr object, TypeFlag flag);

// tp_name of the object's type, printable ASCII, at most 64 characters ("code", "NoneType",
// "collections.OrderedDict"); "" if it cannot be read.
std::string type_name(RemoteReader& reader, const Layout& layout, Addr object);

// The same of a type itself.
std::string name_of_type(RemoteReader& reader, const Layout& layout, Addr type);

}  // namespace oddrank::cpython
