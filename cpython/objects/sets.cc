// Sources: Include/cpython/setobject.h, Modules/_collectionsmodule.c (3.8 to 3.15).
#include "cpython/objects/sets.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "cpython/objects/types.h"

namespace oddrank::cpython {

std::vector<Addr> read_set(PythonMemory& memory, Addr set, std::size_t limit) {
  const Layout& layout = memory.layout();
  constexpr std::uint64_t kEntry = 16;   // the object and its hash
  constexpr std::uint64_t kSparse = 16;  // CPython gives a member no more entries than that
  std::vector<Addr> members;
  const std::string type = type_name(memory, set);
  const auto mask = memory.value<std::uint64_t>(set + layout.object.set_mask);
  const Addr table = memory.pointer_or_null(set + layout.object.set_table);
  if ((type != "set" && type != "frozenset") || !mask || table == Addr{}) {
    return members;
  }
  // The first entries of a larger table have `limit` members, or nearly.
  const std::uint64_t read = std::min<std::uint64_t>(*mask, kSparse * limit - 1) + 1;
  const auto entries = memory.bytes(table, read * kEntry);
  for (std::size_t at = 0; entries && at < entries->size() && members.size() < limit;
       at += kEntry) {
    std::uint64_t member = 0;
    std::uint64_t hash = 0;
    std::memcpy(&member, entries->data() + at, sizeof member);
    std::memcpy(&hash, entries->data() + at + sizeof member, sizeof hash);
    // A removed member leaves a placeholder with this hash, which no object has.
    if (member != 0 && hash != ~std::uint64_t{0}) {
      members.push_back(Addr{member});
    }
  }
  return members;
}

std::vector<Addr> read_deque(PythonMemory& memory, Addr deque, std::size_t limit) {
  // struct dequeobject: the count, leftblock, rightblock, leftindex. struct BLOCK: the left
  // neighbour, 64 items, the right neighbour.
  constexpr std::uint64_t kItems = 64;
  const ObjectOffsets& offsets = memory.layout().object;
  std::vector<Addr> items;
  const auto count = memory.value<std::int64_t>(deque + offsets.size);
  const auto index = memory.value<std::uint64_t>(deque + offsets.size + 3 * kPointerSize);
  if (type_name(memory, deque) != "collections.deque" || !count || *count < 0 || !index ||
      *index >= kItems) {
    return items;
  }
  Addr block = memory.pointer_or_null(deque + offsets.size + kPointerSize);
  std::uint64_t at = *index;
  while (items.size() < limit && items.size() < static_cast<std::uint64_t>(*count)) {
    if (at == kItems) {
      block = memory.pointer_or_null(block + (1 + kItems) * kPointerSize);
      at = 0;
    }
    const auto item = memory.pointer(block + (1 + at) * kPointerSize);
    if (!item) {
      break;
    }
    items.push_back(*item);
    ++at;
  }
  return items;
}

}  // namespace oddrank::cpython
