#include "cpython/objects/types.h"

namespace oddrank::cpython {

Addr type_of(RemoteReader& reader, const Layout& layout, Addr object) {
  return reader.pointer_or_null(object + layout.object.type);
}

std::uint64_t type_flags(RemoteReader& reader, const Layout& layout, Addr object) {
  const Addr type = type_of(reader, layout, object);
  return reader.value<std::uint64_t>(type + layout.object.type_flags).value_or(0);
}

bool is_instance(RemoteReader& reader, const Layout& layout, Addr object, TypeFlag flag) {
  return (type_flags(reader, layout, object) & static_cast<std::uint64_t>(flag)) != 0;
}

std::string type_name(RemoteReader& reader, const Layout& layout, Addr object) {
  return name_of_type(reader, layout, type_of(reader, layout, object));
}

std::string name_of_type(RemoteReader& reader, const Layout& layout, Addr type) {
  constexpr std::size_t kNameLimit = 64;
  const Addr text = reader.pointer_or_null(type + layout.object.type_name);
  std::string name;
  while (name.size() < kNameLimit) {
    const auto byte = reader.value<char>(text + name.size());
    if (!byte || *byte == '\0') {
      break;
    }
    const bool printable = *byte >= ' ' && *byte <= '~';
    name += printable ? *byte : '?';
  }
  return name;
}

}  // namespace oddrank::cpython
