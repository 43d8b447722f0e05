#include "cpython/objects/dicts.h"

#include <algorithm>
#include <optional>
#include <span>

#include "cpython/objects/dict_table.h"
#include "cpython/objects/strings.h"
#include "cpython/objects/types.h"

namespace oddrank::cpython {
namespace {

constexpr std::size_t kMaxSearched = std::size_t{1} << 16;  // keys, where they are read one by one

// Locates a table, and fetches the first entries.
std::optional<DictTable> open_table(PythonMemory& memory, Addr keys, std::size_t limit) {
  auto table = locate_table(memory, keys);
  if (table) {
    table->count = std::min(table->count, limit);
    const PythonMemory::Range range{table->entries, table->count * table->stride};
    memory.prefetch(std::span(&range, 1));
  }
  return table;
}

// Returns the indices of a split table's values in the order in which they were set; in the order
// of the keys if none is stored, or the stored one is impossible.
std::vector<std::size_t> split_order(PythonMemory& memory, Addr values, std::size_t count) {
  const Layout& layout = memory.layout();
  std::vector<std::size_t> order;
  const bool before = layout.semantics.split_order == SplitOrder::kBefore;
  const Addr size_at = before ? Addr{value_of(values) - 2} : values + 1;
  const auto capacity = memory.value<std::uint8_t>(values).value_or(0);
  const Addr behind = values + layout.keys.first_value + capacity * kPointerSize;
  const std::size_t size = layout.semantics.split_order == SplitOrder::kAsKeys
                               ? 0
                               : memory.value<std::uint8_t>(size_at).value_or(0);
  std::vector<bool> seen(count);
  for (std::size_t i = 0; i < size; ++i) {
    const Addr at = before ? Addr{value_of(values) - 3 - i} : behind + i;
    const std::size_t index = memory.value<std::uint8_t>(at).value_or(0xff);
    if (index < count && !seen[index]) {
      seen[index] = true;
      order.push_back(index);
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (!seen[i]) {
      order.push_back(i);
    }
  }
  return order;
}

}  // namespace

std::vector<DictItem> read_split(PythonMemory& memory, Addr keys, Addr values, std::size_t limit) {
  std::vector<DictItem> items;
  const auto table = open_table(memory, keys, limit);
  if (!table) {
    return items;
  }
  for (const std::size_t i : split_order(memory, values, table->count)) {
    const Addr key = memory.pointer_or_null(table->key_at(i));
    const Addr value =
        memory.pointer_or_null(values + memory.layout().keys.first_value + i * kPointerSize);
    if (key != Addr{} && value != Addr{}) {
      items.push_back({key, value});
    }
  }
  return items;
}

std::vector<DictItem> read_dict(PythonMemory& memory, Addr dict, std::size_t limit) {
  const Layout& layout = memory.layout();
  std::vector<DictItem> items;
  if (!is_instance(memory, dict, TypeFlag::kDict)) {
    return items;
  }
  const Addr keys = memory.pointer_or_null(dict + layout.object.dict_keys);
  const Addr values = memory.pointer_or_null(dict + layout.object.dict_values);
  if (values != Addr{}) {
    return read_split(memory, keys, values, limit);
  }
  const auto table = open_table(memory, keys, limit);
  for (std::size_t i = 0; table && i < table->count; ++i) {
    const Addr at = table->key_at(i);
    const DictItem item{memory.pointer_or_null(at), memory.pointer_or_null(at + kPointerSize)};
    if (item.key != Addr{} && item.value != Addr{}) {  // null: removed
      items.push_back(item);
    }
  }
  return items;
}

Addr find_key(PythonMemory& memory, const std::vector<DictItem>& items, std::string_view key) {
  const Layout& layout = memory.layout();
  // The first keys are often the wanted ones (`sys` in sys.modules), and each may be on another
  // page.
  constexpr std::size_t kFirstBatch = 8;
  constexpr std::size_t kMaxBatch = 128;
  std::vector<PythonMemory::Range> ranges;
  std::size_t count = kFirstBatch;
  for (std::size_t start = 0; start < items.size();) {
    const auto batch = std::span(items).subspan(start, std::min(count, items.size() - start));
    start += batch.size();
    count = std::min(4 * count, kMaxBatch);
    ranges.clear();
    for (const DictItem& item : batch) {
      ranges.push_back({item.key, layout.object.str_compact_data + key.size()});
    }
    memory.prefetch(ranges);
    for (const DictItem& item : batch) {
      // Comparing the length first avoids most reads of the text.
      const auto length = memory.value<std::uint64_t>(item.key + layout.object.str_length);
      if (length != key.size()) {
        continue;
      }
      const auto text = read_string(memory, item.key, key.size());
      if (text && text->utf8 == key) {
        return item.value;
      }
    }
  }
  return Addr{};
}

Addr find_in_split(PythonMemory& memory, Addr keys, Addr values, std::string_view key) {
  const auto table = locate_table(memory, keys);
  const auto entry = table ? look_up(memory, *table, key) : std::nullopt;
  if (!entry) {
    return find_key(memory, read_split(memory, keys, values), key);
  }
  return *entry == table->count ? Addr{}
                                : memory.pointer_or_null(values + memory.layout().keys.first_value +
                                                         *entry * kPointerSize);
}

Addr find_in_dict(PythonMemory& memory, Addr dict, std::string_view key) {
  if (!is_instance(memory, dict, TypeFlag::kDict)) {
    return {};
  }
  const Layout& layout = memory.layout();
  const Addr keys = memory.pointer_or_null(dict + layout.object.dict_keys);
  const Addr values = memory.pointer_or_null(dict + layout.object.dict_values);
  if (values != Addr{}) {
    return find_in_split(memory, keys, values, key);
  }
  const auto table = locate_table(memory, keys);
  const auto entry = table ? look_up(memory, *table, key) : std::nullopt;
  if (!entry) {
    return find_key(memory, read_dict(memory, dict, kMaxSearched), key);
  }
  return *entry == table->count ? Addr{}
                                : memory.pointer_or_null(table->key_at(*entry) + kPointerSize);
}

}  // namespace oddrank::cpython
