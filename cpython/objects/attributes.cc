#include "cpython/objects/attributes.h"

#include "cpython/objects/types.h"

namespace oddrank::cpython {
namespace {

// Bits of tp_flags (Include/object.h; 3.11+, 3.13+).
constexpr std::uint64_t kManagedDict = 1U << 4;
constexpr std::uint64_t kInlineValues = 1U << 2;

constexpr std::size_t kWord = sizeof(std::uint64_t);
constexpr std::size_t kAttributeLimit = 256;

// Where an instance's attributes are: in a dict, or in values whose keys the type has.
struct Place {
  Addr dict{};
  Addr values{};
};

Addr back(Addr address, std::uint64_t words) {
  return Addr{value_of(address) - words * kWord};
}

Place place_of_managed(RemoteReader& reader,
                       const Layout& layout,
                       Addr object,
                       std::uint64_t flags) {
  Place place;
  switch (layout.semantics.attributes) {
    case AttributeFormat::kDictOnly:
      break;
    case AttributeFormat::kTwoPointers:
      place.values = reader.pointer_or_null(back(object, 4));
      place.dict = reader.pointer_or_null(back(object, 3));
      break;
    case AttributeFormat::kTaggedDict: {
      const Addr word = reader.pointer_or_null(back(object, 3));
      const bool values = (value_of(word) & 1) != 0;
      // The pointer is kept one byte low, so that the bit is set.
      place = values ? Place{Addr{}, word + 1} : Place{word, Addr{}};
      break;
    }
    case AttributeFormat::kInlineValues: {
      // Free-threaded builds have no header of the garbage collector before an object.
      place.dict = reader.pointer_or_null(back(object, layout.semantics.free_threaded ? 1 : 3));
      if (place.dict == Addr{} && (flags & kInlineValues) != 0) {
        const Addr type = type_of(reader, layout, object);
        const auto size = reader.value<std::uint32_t>(type + layout.object.type_basic_size);
        place.values = size ? object + *size : Addr{};
      }
      break;
    }
  }
  return place;
}

Place place_of(RemoteReader& reader, const Layout& layout, Addr object) {
  const std::uint64_t flags = type_flags(reader, layout, object);
  if (layout.semantics.attributes != AttributeFormat::kDictOnly && (flags & kManagedDict) != 0) {
    return place_of_managed(reader, layout, object, flags);
  }
  constexpr std::int64_t kFar = 1 << 20;
  const Addr type = type_of(reader, layout, object);
  const auto offset = reader.value<std::int64_t>(type + layout.object.type_dict_offset);
  if (!offset || *offset <= 0 || *offset > kFar) {  // negative: of variable-sized objects
    return {};
  }
  return {reader.pointer_or_null(object + static_cast<std::uint64_t>(*offset)), Addr{}};
}

Addr cached_keys(RemoteReader& reader, const Layout& layout, Addr object) {
  return reader.pointer_or_null(type_of(reader, layout, object) + layout.object.type_cached_keys);
}

}  // namespace

std::vector<DictItem> read_attributes(RemoteReader& reader, const Layout& layout, Addr object) {
  const Place place = place_of(reader, layout, object);
  if (place.values != Addr{}) {
    return read_split(reader, layout, cached_keys(reader, layout, object), place.values,
                      kAttributeLimit);
  }
  return read_dict(reader, layout, place.dict, kAttributeLimit);
}

Addr read_attribute(RemoteReader& reader,
                    const Layout& layout,
                    Addr object,
                    std::string_view name) {
  return find_key(reader, layout, read_attributes(reader, layout, object), name);
}

void prefetch_attributes(RemoteReader& reader,
                         const Layout& layout,
                         std::span<const Addr> objects) {
  constexpr std::size_t kBefore = 4;    // words that may lie before an object
  constexpr std::size_t kBehind = 256;  // enough for the inline values of most
  constexpr std::size_t kHead = 64;
  std::vector<RemoteReader::Range> ranges;
  for (const Addr object : objects) {
    ranges.push_back({back(object, kBefore), kBefore * kWord + kBehind});
  }
  reader.prefetch(ranges);
  ranges.clear();
  for (const Addr object : objects) {
    const Addr type = type_of(reader, layout, object);
    ranges.push_back({type, layout.object.type_cached_keys + kWord});
  }
  reader.prefetch(ranges);
  std::vector<Place> places;
  ranges.clear();
  for (const Addr object : objects) {
    places.push_back(place_of(reader, layout, object));
    ranges.push_back({places.back().dict, kHead});
    ranges.push_back({places.back().values, kBehind});
  }
  reader.prefetch(ranges);
  ranges.clear();
  for (const Place& place : places) {
    if (place.dict != Addr{}) {
      ranges.push_back({reader.pointer_or_null(place.dict + layout.object.dict_keys), kBehind});
      ranges.push_back({reader.pointer_or_null(place.dict + layout.object.dict_values), kBehind});
    }
  }
  reader.prefetch(ranges);
}

std::vector<DictItem> read_module(RemoteReader& reader, const Layout& layout, Addr module) {
  if (type_name(reader, layout, module) != "module") {
    return {};
  }
  return read_dict(reader, layout, reader.pointer_or_null(module + layout.object.module_dict));
}

Addr find_module(RemoteReader& reader,
                 const Layout& layout,
                 Addr interpreter,
                 std::string_view name) {
  const Addr modules = reader.pointer_or_null(interpreter + layout.interpreter.modules);
  return find_key(reader, layout, read_dict(reader, layout, modules), name);
}

}  // namespace oddrank::cpython
