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
  std::vector<Addr> lengths;
  lengths.reserve(items.size());
  for (const DictItem& item : items) {
    lengths.push_back(item.key + layout.object.str_length);
  }
  const auto words = memory.words(lengths);
  rows_.reserve(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    rows_.push_back({words[i].value_or(0), items[i]});
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
