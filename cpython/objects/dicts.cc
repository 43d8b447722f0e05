#include "cpython/objects/dicts.h"

#include <algorithm>
#include <optional>
#include <span>

#include "base/ascii.h"
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

namespace {

constexpr std::uint8_t kMaxLogSlots = 40;
constexpr std::uint64_t kMaxTableSlots = std::uint64_t{1} << kMaxLogSlots;

// Up to 3.10 the table has its size, from which the width of its indices follows.
std::optional<DictTable> locate_sized(PythonMemory& memory, Addr keys) {
  const Layout& layout = memory.layout();
  const auto slots = memory.value<std::uint64_t>(keys + layout.keys.size);
  if (!slots || *slots == 0 || *slots > kMaxTableSlots) {
    return std::nullopt;
  }
  DictTable table;
  table.slots = *slots;
  table.index_size = 8;
  if (*slots <= 0xff) {
    table.index_size = 1;
  } else if (*slots <= 0xffff) {
    table.index_size = 2;
  } else if (*slots <= 0xffffffff) {
    table.index_size = 4;
  }
  table.key = kPointerSize;
  return table;
}

// From 3.11 on it has the logarithms of its size and of the bytes of its indices.
std::optional<DictTable> locate_logarithmic(PythonMemory& memory, Addr keys) {
  const Layout& layout = memory.layout();
  const auto log_slots = memory.value<std::uint8_t>(keys + layout.keys.size);
  const auto log_bytes = memory.value<std::uint8_t>(keys + layout.keys.index_bytes);
  const auto kind = memory.value<std::uint8_t>(keys + layout.keys.kind);
  if (!log_slots || !log_bytes || !kind || *log_slots > kMaxLogSlots || *log_bytes < *log_slots ||
      *log_bytes - *log_slots > 3 || *kind > 2) {
    return std::nullopt;
  }
  DictTable table;
  table.slots = std::uint64_t{1} << *log_slots;
  table.index_size = std::size_t{1} << (*log_bytes - *log_slots);
  table.key = *kind == 0 ? kPointerSize : 0;
  return table;
}

std::int64_t index_at(PythonMemory& memory, const DictTable& table, std::uint64_t slot) {
  constexpr std::int64_t kEmpty = -1;
  const Addr at = table.indices + slot * table.index_size;
  switch (table.index_size) {
    case 1:
      return memory.value<std::int8_t>(at).value_or(kEmpty);
    case 2:
      return memory.value<std::int16_t>(at).value_or(kEmpty);
    case 4:
      return memory.value<std::int32_t>(at).value_or(kEmpty);
    default:
      return memory.value<std::int64_t>(at).value_or(kEmpty);
  }
}

// A str keeps its hash behind its length; -1 until it is computed.
std::int64_t kept_hash(PythonMemory& memory, Addr object) {
  return memory.value<std::int64_t>(object + memory.layout().object.str_length + kPointerSize)
      .value_or(-1);
}

// Gives the hasher one of the table's keys, which were hashed when they were put in.
void learn_from(PythonMemory& memory, const DictTable& table) {
  constexpr std::size_t kTried = 8;
  for (std::size_t i = 0; i < std::min(table.count, kTried) && memory.hasher().may_learn(); ++i) {
    const Addr key = memory.pointer_or_null(table.key_at(i));
    const auto text = key == Addr{} ? std::nullopt : read_string(memory, key, kMaxNameLength);
    const std::int64_t hash = text ? kept_hash(memory, key) : -1;
    const bool tells = text && !text->cut && !text->utf8.empty() &&
                       std::all_of(text->utf8.begin(), text->utf8.end(), is_printable_ascii);
    if (tells && hash != -1) {
      memory.hasher().learn(memory, text->utf8, hash);
    }
  }
}

}  // namespace

std::optional<DictTable> locate_table(PythonMemory& memory, Addr keys) {
  const Layout& layout = memory.layout();
  auto table = layout.keys.index_bytes == kAbsent ? locate_sized(memory, keys)
                                                  : locate_logarithmic(memory, keys);
  const auto count = memory.value<std::int64_t>(keys + layout.keys.count);
  if (!table || !count || *count < 0 || static_cast<std::uint64_t>(*count) > table->slots) {
    return std::nullopt;
  }
  table->indices = keys + layout.keys.indices;
  table->entries = table->indices + table->slots * table->index_size;
  table->count = static_cast<std::size_t>(*count);
  table->stride = table->key + 2 * kPointerSize;
  return table;
}

// The order of the slots is as in Objects/dictobject.c: from 3.7 on the hash is shifted by five
// bits before each step (3.6 shifts it after the first one; there no hash is known). An index below
// zero is an empty slot (-1), where the search ends, or a removed key (-2).
std::optional<std::size_t> look_up(PythonMemory& memory,
                                   const DictTable& table,
                                   std::string_view key) {
  constexpr unsigned kShift = 5;
  constexpr int kMaxSteps = 1000;  // a dict has one and a half times as many slots as keys
  if (memory.hasher().may_learn()) {
    learn_from(memory, table);
  }
  const auto hash = memory.hasher().hash(key);
  if (!hash || (table.slots & (table.slots - 1)) != 0) {
    return std::nullopt;
  }
  const std::uint64_t mask = table.slots - 1;
  auto rest = static_cast<std::uint64_t>(*hash);
  std::uint64_t slot = rest & mask;
  for (int step = 0; step < kMaxSteps; ++step) {
    const std::int64_t index = index_at(memory, table, slot);
    if (index == -1) {
      return table.count;
    }
    const auto entry = static_cast<std::uint64_t>(index);
    const Addr object = entry < table.count ? memory.pointer_or_null(table.key_at(entry)) : Addr{};
    if (object != Addr{} && kept_hash(memory, object) == *hash) {
      const auto text = read_string(memory, object, key.size() + 1);
      if (text && text->utf8 == key) {
        return entry;
      }
    }
    rest >>= kShift;
    slot = (slot * 5 + rest + 1) & mask;
  }
  return table.count;
}

}  // namespace oddrank::cpython
