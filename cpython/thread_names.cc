#include "cpython/thread_names.h"

#include <optional>
#include <vector>

#include "cpython/objects/attributes.h"
#include "cpython/objects/scalars.h"
#include "cpython/objects/strings.h"
#include "cpython/objects/types.h"

namespace oddrank::cpython {
namespace {

Addr find_active(PythonMemory& memory, Addr interpreter) {
  const Addr module = find_module(memory, interpreter, "threading");
  return module == Addr{} ? module : find_global(memory, module, "_active");
}

}  // namespace

ThreadNames::Names ThreadNames::read(PythonMemory& memory, Addr interpreter) {
  const Layout& layout = memory.layout();
  Names names;
  Addr& active = active_[value_of(interpreter)];
  if (active == Addr{}) {
    active = find_active(memory, interpreter);
  }
  std::vector<Addr> threads;
  std::vector<PythonMemory::Range> ranges;
  const auto items = read_dict(memory, active);
  for (const DictItem& item : items) {
    threads.push_back(item.value);
    ranges.push_back({item.key, layout.object.int_digits + sizeof(std::uint64_t)});
  }
  memory.prefetch(ranges);
  prefetch_attributes(memory, threads);

  std::vector<Addr> texts;
  ranges.clear();
  for (const DictItem& item : items) {
    // "name" is a property; the attribute is `_name` in all versions.
    texts.push_back(read_attribute(memory, item.value, "_name"));
    ranges.push_back({texts.back(), layout.object.str_compact_data + kMaxNameLength});
  }
  memory.prefetch(ranges);
  for (std::size_t i = 0; i < items.size(); ++i) {
    const auto identifier = read_int(memory, items[i].key);
    const auto name = read_string(memory, texts[i], kMaxNameLength);
    if (identifier && name) {
      names.emplace(static_cast<std::uint64_t>(*identifier), name->utf8);
    }
  }
  return names;
}

}  // namespace oddrank::cpython
