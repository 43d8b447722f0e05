#include "collectives/name_table.h"

#include "cpython/objects/attributes.h"
#include "cpython/objects/strings.h"

namespace oddrank::collectives {

using attach::Addr;
using cpython::DictItem;
using cpython::Layout;
using cpython::RemoteReader;

NameTable::NameTable(RemoteReader& reader, const Layout& layout, const std::vector<DictItem>& items)
    : reader_(reader), layout_(layout) {
  std::vector<RemoteReader::Range> ranges;
  ranges.reserve(items.size());
  for (const DictItem& item : items) {
    ranges.push_back({item.key, layout.object.str_compact_data + 1});
  }
  reader.prefetch(ranges);
  rows_.reserve(items.size());
  for (const DictItem& item : items) {
    rows_.push_back(
        {reader.value<std::uint64_t>(item.key + layout.object.str_length).value_or(0), item});
  }
}

NameTable NameTable::of_module(RemoteReader& reader, const Layout& layout, Addr module) {
  return {reader, layout, cpython::read_module(reader, layout, module)};
}

NameTable NameTable::of_modules(RemoteReader& reader, const Layout& layout, Addr interpreter) {
  const Addr modules = reader.pointer_or_null(interpreter + layout.interpreter.modules);
  return {reader, layout, cpython::read_dict(reader, layout, modules, 1U << 16U)};
}

Addr NameTable::find(std::string_view name) const {
  for (const Row& row : rows_) {
    if (row.length != name.size()) {
      continue;
    }
    const auto text = cpython::read_string(reader_, layout_, row.item.key, name.size());
    if (text && text->utf8 == name) {
      return row.item.value;
    }
  }
  return Addr{};
}

}  // namespace oddrank::collectives
