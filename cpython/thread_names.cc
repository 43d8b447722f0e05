#include "cpython/thread_names.h"

#include <optional>
#include <vector>

#include "cpython/objects/attributes.h"
#include "cpython/objects/objects.h"
#include "cpython/objects/strings.h"
#include "cpython/objects/types.h"

namespace oddrank::cpython {
namespace {

constexpr std::size_t kNameLimit = 128;

Addr find_active(RemoteReader& reader, const Layout& layout, Addr interpreter) {
  const Addr module = find_module(reader, layout, interpreter, "threading");
  if (module == Addr{}) {
    return module;
  }
  return find_key(reader, layout, read_module(reader, layout, module), "_active");
}

}  // namespace

ThreadNames::Names ThreadNames::read(RemoteReader& reader, const Layout& layout, Addr interpreter) {
  Names names;
  Addr& active = active_[value_of(interpreter)];
  if (active == Addr{}) {
    active = find_active(reader, layout, interpreter);
  }
  std::vector<Addr> threads;
  std::vector<RemoteReader::Range> ranges;
  const auto items = read_dict(reader, layout, active);
  for (const DictItem& item : items) {
    threads.push_back(item.value);
    ranges.push_back({item.key, layout.object.int_digits + sizeof(std::uint64_t)});
  }
  reader.prefetch(ranges);
  prefetch_attributes(reader, layout, threads);

  std::vector<Addr> texts;
  ranges.clear();
  for (const DictItem& item : items) {
    // "name" is a property; the attribute is `_name` in all versions.
    texts.push_back(read_attribute(reader, layout, item.value, "_name"));
    ranges.push_back({texts.back(), layout.object.str_compact_data + kNameLimit});
  }
  reader.prefetch(ranges);
  for (std::size_t i = 0; i < items.size(); ++i) {
    const auto identifier = read_int(reader, layout, items[i].key);
    const auto name = read_string(reader, layout, texts[i], kNameLimit);
    if (identifier && name) {
      names.emplace(static_cast<std::uint64_t>(*identifier), name->utf8);
    }
  }
  return names;
}

}  // namespace oddrank::cpython
