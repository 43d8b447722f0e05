#include "cpython/objects/dicts.h"

#include <algorithm>
#include <optional>
#include <span>

#include "cpython/objects/strings.h"
#include "cpython/objects/types.h"

namespace oddrank::cpython {
namespace {

constexpr std::size_t kWord = sizeof(std::uint64_t);

// Where the entries of a table lie, and how long one is.
struct Entries {
  Addr start{};
  std::size_t count = 0;
  std::size_t stride = 0;
  std::size_t key = 0;  // offset of the key; the value follows it
};

std::optional<Entries> locate_logarithmic(RemoteReader& reader, const Layout& layout, Addr keys) {
  constexpr std::uint8_t kLargest = 40;
  const auto index_bytes = reader.value<std::uint8_t>(keys + layout.keys.index_bytes);
  const auto kind = reader.value<std::uint8_t>(keys + layout.keys.kind);
  if (!index_bytes || !kind || *index_bytes > kLargest || *kind > 2) {
    return std::nullopt;
  }
  Entries entries;
  entries.start = keys + layout.keys.indices + (std::uint64_t{1} << *index_bytes);
  const bool hashed = *kind == 0;
  entries.key = hashed ? kWord : 0;
  entries.stride = entries.key + 2 * kWord;
  return entries;
}

std::optional<Entries> locate_sized(RemoteReader& reader, const Layout& layout, Addr keys) {
  constexpr std::uint64_t kLargest = std::uint64_t{1} << 40;
  const auto size = reader.value<std::uint64_t>(keys + layout.keys.size);
  if (!size || *size == 0 || *size > kLargest) {
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
  entries.key = kWord;
  entries.stride = 3 * kWord;
  return entries;
}

std::optional<Entries> locate(RemoteReader& reader,
                              const Layout& layout,
                              Addr keys,
                              std::size_t limit) {
  auto entries = layout.keys.index_bytes == kAbsent ? locate_sized(reader, layout, keys)
                                                    : locate_logarithmic(reader, layout, keys);
  const auto count = reader.value<std::int64_t>(keys + layout.keys.count);
  if (!entries || !count || *count < 0) {
    return std::nullopt;
  }
  entries->count = std::min(static_cast<std::size_t>(*count), limit);
  const RemoteReader::Range range{entries->start, entries->count * entries->stride};
  reader.prefetch(std::span(&range, 1));
  return entries;
}

}  // namespace

std::vector<DictItem> read_split(
    RemoteReader& reader, const Layout& layout, Addr keys, Addr values, std::size_t limit) {
  std::vector<DictItem> items;
  const auto entries = locate(reader, layout, keys, limit);
  for (std::size_t i = 0; entries && i < entries->count; ++i) {
    const Addr key = reader.pointer_or_null(entries->start + i * entries->stride + entries->key);
    const Addr value = reader.pointer_or_null(values + layout.keys.first_value + i * kWord);
    if (key != Addr{} && value != Addr{}) {
      items.push_back({key, value});
    }
  }
  return items;
}

std::vector<DictItem> read_dict(RemoteReader& reader,
                                const Layout& layout,
                                Addr dict,
                                std::size_t limit) {
  std::vector<DictItem> items;
  if (!is_instance(reader, layout, dict, TypeFlag::kDict)) {
    return items;
  }
  const Addr keys = reader.pointer_or_null(dict + layout.object.dict_keys);
  const Addr values = reader.pointer_or_null(dict + layout.object.dict_values);
  if (values != Addr{}) {
    return read_split(reader, layout, keys, values, limit);
  }
  const auto entries = locate(reader, layout, keys, limit);
  for (std::size_t i = 0; entries && i < entries->count; ++i) {
    const Addr at = entries->start + i * entries->stride + entries->key;
    const DictItem item{reader.pointer_or_null(at), reader.pointer_or_null(at + kWord)};
    if (item.key != Addr{} && item.value != Addr{}) {  // else removed
      items.push_back(item);
    }
  }
  return items;
}

Addr find_key(RemoteReader& reader,
              const Layout& layout,
              const std::vector<DictItem>& items,
              std::string_view key) {
  constexpr std::size_t kBatch = 128;
  std::vector<RemoteReader::Range> ranges;
  for (std::size_t start = 0; start < items.size(); start += kBatch) {
    const auto batch = std::span(items).subspan(start, std::min(kBatch, items.size() - start));
    ranges.clear();
    for (const DictItem& item : batch) {
      ranges.push_back({item.key, layout.object.str_compact_data + key.size()});
    }
    reader.prefetch(ranges);
    for (const DictItem& item : batch) {
      // The length first: it spares most of the comparisons.
      const auto length = reader.value<std::uint64_t>(item.key + layout.object.str_length);
      if (length != key.size()) {
        continue;
      }
      const auto text = read_string(reader, layout, item.key, key.size());
      if (text && text->utf8 == key) {
        return item.value;
      }
    }
  }
  return Addr{};
}

}  // namespace oddrank::cpython
