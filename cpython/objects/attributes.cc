#include "cpython/objects/attributes.h"

#include <optional>

#include "cpython/objects/types.h"

namespace oddrank::cpython {
namespace {

// Bits of tp_flags (Include/object.h; 3.11+, 3.13+).
constexpr std::uint64_t kManagedDict = 1U << 4;
constexpr std::uint64_t kInlineValues = 1U << 2;

constexpr std::size_t kMaxAttributes = 256;

// Members of a type, in words (PyTypeObject of 3.8 to 3.15).
constexpr std::uint64_t kMembersAfterFlags = 9;
constexpr std::uint64_t kBaseAfterFlags = 11;

// Where an instance's attributes are: in a dict, or in an array of values whose keys the type has.
struct Place {
  Addr dict{};
  Addr values{};
};

Addr back(Addr address, std::uint64_t words) {
  return Addr{value_of(address) - words * kPointerSize};
}

Place place_of_managed(PythonMemory& memory, Addr object, std::uint64_t flags) {
  const Layout& layout = memory.layout();
  Place place;
  switch (layout.semantics.attributes) {
    case AttributeFormat::kDictOnly:
      break;
    case AttributeFormat::kTwoPointers:
      place.values = memory.pointer_or_null(back(object, 4));
      place.dict = memory.pointer_or_null(back(object, 3));
      break;
    case AttributeFormat::kTaggedDict: {
      const Addr word = memory.pointer_or_null(back(object, 3));
      const bool values = (value_of(word) & 1) != 0;
      // The stored pointer is one less, which sets the bit.
      place = values ? Place{Addr{}, word + 1} : Place{word, Addr{}};
      break;
    }
    case AttributeFormat::kInlineValues: {
      // Free-threaded builds have no garbage collector header before an object.
      place.dict = memory.pointer_or_null(back(object, layout.semantics.free_threaded ? 1 : 3));
      if (place.dict == Addr{} && (flags & kInlineValues) != 0) {
        const Addr type = type_of(memory, object);
        const auto size = memory.value<std::uint32_t>(type + layout.object.type_basic_size);
        place.values = size ? object + *size : Addr{};
      }
      break;
    }
  }
  return place;
}

Place place_of(PythonMemory& memory, Addr object) {
  const Layout& layout = memory.layout();
  const std::uint64_t flags = type_flags(memory, object);
  if (layout.semantics.attributes != AttributeFormat::kDictOnly && (flags & kManagedDict) != 0) {
    return place_of_managed(memory, object, flags);
  }
  constexpr std::int64_t kMaxDictOffset = 1 << 20;
  const Addr type = type_of(memory, object);
  const auto offset = memory.value<std::int64_t>(type + layout.object.type_dict_offset);
  if (!offset || *offset == 0 || *offset > kMaxDictOffset || *offset < -kMaxDictOffset) {
    return {};
  }
  if (*offset > 0) {
    return {memory.pointer_or_null(object + static_cast<std::uint64_t>(*offset)), Addr{}};
  }
  // A variable-sized object (IntEnum up to 3.11) has its dict behind its items; tp_itemsize
  // follows tp_basicsize. The size of an int is negative if the number is.
  const auto basic = memory.value<std::int64_t>(type + layout.object.type_basic_size);
  const auto item = memory.value<std::int64_t>(type + layout.object.type_basic_size + kPointerSize);
  const auto count = memory.value<std::int64_t>(object + layout.object.size);
  const auto small = [](const std::optional<std::int64_t>& size) {
    return size && *size > -kMaxDictOffset && *size < kMaxDictOffset;
  };
  if (!small(basic) || !small(item) || !small(count)) {
    return {};
  }
  const std::int64_t end = *basic + *item * (*count < 0 ? -*count : *count);
  const std::int64_t at = (end + 7) / 8 * 8 + *offset;
  return at < 0 ? Place{}
                : Place{memory.pointer_or_null(object + static_cast<std::uint64_t>(at)), Addr{}};
}

Addr cached_keys(PythonMemory& memory, Addr object) {
  return memory.pointer_or_null(type_of(memory, object) + memory.layout().object.type_cached_keys);
}

bool is_c_string(PythonMemory& memory, Addr text, std::string_view wanted) {
  for (std::size_t i = 0; i <= wanted.size(); ++i) {
    const auto byte = memory.value<char>(text + i);
    if (!byte || *byte != (i == wanted.size() ? '\0' : wanted[i])) {
      return false;
    }
  }
  return true;
}

// Returns where in its instances the class itself has the slot; 0 if it has none of this name.
std::uint64_t offset_of_slot(PythonMemory& memory, Addr type, std::string_view name) {
  struct Member {  // PyMemberDef
    std::uint64_t name;
    std::int32_t kind;
    std::int64_t offset;
    std::int32_t flags;
    std::uint64_t doc;
  };
  constexpr std::int32_t kObject = 16;  // T_OBJECT_EX
  constexpr std::size_t kMaxSlots = 128;
  constexpr std::int64_t kMaxOffset = 4096;
  const Addr members = memory.pointer_or_null(type + memory.layout().object.type_flags +
                                              kMembersAfterFlags * kPointerSize);
  for (std::size_t i = 0; members != Addr{} && i < kMaxSlots; ++i) {
    const auto member = memory.value<Member>(members + i * sizeof(Member));
    if (!member || member->name == 0) {
      break;
    }
    if (member->kind == kObject && is_c_string(memory, Addr{member->name}, name)) {
      const bool is_within = member->offset > 0 && member->offset < kMaxOffset;
      return is_within ? static_cast<std::uint64_t>(member->offset) : 0;
    }
  }
  return 0;
}

Addr read_slot(PythonMemory& memory, Addr object, std::string_view name) {
  constexpr std::size_t kMaxBases = 16;
  Addr type = type_of(memory, object);
  for (std::size_t i = 0; i < kMaxBases && type != Addr{}; ++i) {
    if (const std::uint64_t offset = offset_of_slot(memory, type, name); offset != 0) {
      return memory.pointer_or_null(object + offset);
    }
    type = memory.pointer_or_null(type + memory.layout().object.type_flags +
                                  kBaseAfterFlags * kPointerSize);
  }
  return Addr{};
}

}  // namespace

std::vector<DictItem> read_attributes(PythonMemory& memory, Addr object) {
  const Place place = place_of(memory, object);
  if (place.values != Addr{}) {
    return read_split(memory, cached_keys(memory, object), place.values, kMaxAttributes);
  }
  return read_dict(memory, place.dict, kMaxAttributes);
}

Addr read_attribute(PythonMemory& memory, Addr object, std::string_view name) {
  const Place place = place_of(memory, object);
  return place.values != Addr{}
             ? find_in_split(memory, cached_keys(memory, object), place.values, name)
             : find_in_dict(memory, place.dict, name);
}

Addr read_slot_or_attribute(PythonMemory& memory, Addr object, std::string_view name) {
  const Addr slot = read_slot(memory, object, name);
  return slot == Addr{} ? read_attribute(memory, object, name) : slot;
}

void prefetch_attributes(PythonMemory& memory, std::span<const Addr> objects) {
  const Layout& layout = memory.layout();
  constexpr std::size_t kBefore = 4;    // words that may precede an object
  constexpr std::size_t kBehind = 256;  // enough for the inline values of most objects
  constexpr std::size_t kHead = 64;
  std::vector<PythonMemory::Range> ranges;
  for (const Addr object : objects) {
    ranges.push_back({back(object, kBefore), kBefore * kPointerSize + kBehind});
  }
  memory.prefetch(ranges);
  ranges.clear();
  for (const Addr object : objects) {
    const Addr type = type_of(memory, object);
    ranges.push_back({type, layout.object.type_cached_keys + kPointerSize});
  }
  memory.prefetch(ranges);
  std::vector<Place> places;
  ranges.clear();
  for (const Addr object : objects) {
    places.push_back(place_of(memory, object));
    ranges.push_back({places.back().dict, kHead});
    ranges.push_back({places.back().values, kBehind});
  }
  memory.prefetch(ranges);
  ranges.clear();
  for (const Place& place : places) {
    if (place.dict != Addr{}) {
      ranges.push_back({memory.pointer_or_null(place.dict + layout.object.dict_keys), kBehind});
      ranges.push_back({memory.pointer_or_null(place.dict + layout.object.dict_values), kBehind});
    }
  }
  memory.prefetch(ranges);
}

Addr dict_of_module(PythonMemory& memory, Addr module) {
  return type_name(memory, module) == "module"
             ? memory.pointer_or_null(module + memory.layout().object.module_dict)
             : Addr{};
}

Addr find_global(PythonMemory& memory, Addr module, std::string_view name) {
  return find_in_dict(memory, dict_of_module(memory, module), name);
}

Addr find_module(PythonMemory& memory, Addr interpreter, std::string_view name) {
  return find_in_dict(
      memory, memory.pointer_or_null(interpreter + memory.layout().interpreter.modules), name);
}

}  // namespace oddrank::cpython
