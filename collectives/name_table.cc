#include "collectives/name_table.h"

#include "cpython/objects/attributes.h"
#include "cpython/objects/strings.h"

namespace oddrank::collectives {

using attach::Addr;
using cpython::DictItem;
using cpython::Layout;
using cpython::PythonMemory;

NameTable::NameTable(PythonMemory& memory, const std::vector<DictItem>& items) : memory_(memory) {
  const Layout& layout = memory.layout();
  std::vector<PythonMemory::Range> ranges;
  ranges.reserve(items.size());
  for (const DictItem& item : items) {
    ranges.push_back({item.key, layout.object.str_compact_data + 1});
  }
  memory.prefetch(ranges);
  rows_.reserve(items.size());
  for (const DictItem& item : items) {
    rows_.push_back(
        {memory.value<std::uint64_t>(item.key + layout.object.str_length).value_or(0), item});
  }
}

NameTable NameTable::of_module(PythonMemory& memory, Addr module) {
  return {memory, cpython::read_module(memory, module)};
}

NameTable NameTable::of_modules(PythonMemory& memory, Addr interpreter) {
  const Addr modules = memory.pointer_or_null(interpreter + memory.layout().interpreter.modules);
  return {memory, cpython::read_dict(memory, modules, 1U << 16U)};
}

Addr NameTable::find(std::string_view name) const {
  for (const Row& row : rows_) {
    if (row.length != name.size()) {
      continue;
    }
    const auto text = cpython::read_string(memory_, row.item.key, name.size());
    if (text && text->utf8 == name) {
      return row.item.value;
    }
  }
  return Addr{};
}

}  // namespace oddrank::collectives
