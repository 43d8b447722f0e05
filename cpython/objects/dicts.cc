#include "cpython/objects/dicts.h"

#include <algorithm>
#include <optional>
#include <span>

#include "cpython/objects/strings.h"
#include "cpython/objects/types.h"

namespace oddrank::cpython {
namespace {

// Where the entries of a table are, and the size of one.
struct Entries {
  Addr start{};
  std::size_t count = 0;
  std::size_t stride = 0;
  std::size_t key = 0;  // offset of the key; the value follows it
};

std::optional<Entries> locate_logarithmic(PythonMemory& memory, Addr keys) {
  const Layout& layout = memory.layout();
  constexpr std::uint8_t kMaxIndexBits = 40;
  const auto index_bytes = memory.value<std::uint8_t>(keys + layout.keys.index_bytes);
  const auto kind = memory.value<std::uint8_t>(keys + layout.keys.kind);
  if (!index_bytes || !kind || *index_bytes > kMaxIndexBits || *kind > 2) {
    return std::nullopt;
  }
  Entries entries;
  entries.start = keys + layout.keys.indices + (std::uint64_t{1} << *index_bytes);
  const bool hashed = *kind == 0;
  entries.key = hashed ? kPointerSize : 0;
  entries.stride = entries.key + 2 * kPointerSize;
  return entries;
}

std::optional<Entries> locate_sized(PythonMemory& memory, Addr keys) {
  const Layout& layout = memory.layout();
  constexpr std::uint64_t kMaxSize = std::uint64_t{1} << 40;
  const auto size = memory.value<std::uint64_t>(keys + layout.keys.size);
  if (!size || *size == 0 || *size > kMaxSize) {
    return std::nullopt;
  }
  std::uint64_t width = 8;
  if (*size <= 0xff) {
    width = 1;
  } else if (*size <= 0xffff) {
    width = 2;
  } else if (*size <= 0xffffffff) {
    width = 4;
  }
  Entries entries;
  entries.start = keys + layout.keys.indices + *size * width;
  entries.key = kPointerSize;
  entries.stride = 3 * kPointerSize;
  return entries;
}

std::optional<Entries> locate_entries(PythonMemory& memory, Addr keys, std::size_t limit) {
  const Layout& layout = memory.layout();
  auto entries = layout.keys.index_bytes == kAbsent ? locate_sized(memory, keys)
                                                    : locate_logarithmic(memory, keys);
  const auto count = memory.value<std::int64_t>(keys + layout.keys.count);
  if (!entries || !count || *count < 0) {
    return std::nullopt;
  }
  entries->count = std::min(static_cast<std::size_t>(*count), limit);
  const PythonMemory::Range range{entries->start, entries->count * entries->stride};
  memory.prefetch(std::span(&range, 1));
  return entries;
}

// Returns the indices of a split table's values in the order in which they were set; that of the
// keys if none is noted, or what is noted is impossible.
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
  const auto entries = locate_entries(memory, keys, limit);
  if (!entries) {
    return items;
  }
  for (const std::size_t i : split_order(memory, values, entries->count)) {
    const Addr key = memory.pointer_or_null(entries->start + i * entries->stride + entries->key);
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
  const auto entries = locate_entries(memory, keys, limit);
  for (std::size_t i = 0; entries && i < entries->count; ++i) {
    const Addr at = entries->start + i * entries->stride + entries->key;
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

}  // namespace oddrank::cpython
