// Sources: Include/cpython/setobject.h, Modules/_collectionsmodule.c, Modules/_queuemodule.c (3.8
// to 3.15).
#include "cpython/objects/sets.h"

#include <algorithm>
#include <array>
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

namespace {

// Returns the pointers of an array, from `first` on, `count` of them; fewer if one cannot be read.
std::vector<Addr> read_items(PythonMemory& memory,
                             Addr array,
                             std::uint64_t first,
                             std::uint64_t count) {
  std::vector<Addr> items;
  for (std::uint64_t at = first; at < first + count; ++at) {
    const auto item = memory.pointer(array + at * kPointerSize);
    if (!item) {
      break;
    }
    items.push_back(*item);
  }
  return items;
}

std::vector<Addr> list_from(PythonMemory& memory,
                            Addr list,
                            std::uint64_t first,
                            std::size_t most) {
  const ObjectOffsets& offsets = memory.layout().object;
  const auto count = memory.value<std::uint64_t>(list + offsets.size);
  return type_name(memory, list) != "list" || !count || first > *count
             ? std::vector<Addr>()
             : read_items(memory, memory.pointer_or_null(list + offsets.list_items), first,
                          std::min<std::uint64_t>(*count - first, most));
}

}  // namespace

std::vector<Addr> read_list(PythonMemory& memory, Addr list, std::size_t limit) {
  return list_from(memory, list, 0, limit);
}

// simplequeueobject: up to 3.12 a lock, a flag, a list and where it begins; from 3.13 on a flag and
// a ring: where the next item goes and comes from, its array, the array's length, the items in it.
std::vector<Addr> read_simple_queue(PythonMemory& memory, Addr queue, std::size_t limit) {
  constexpr std::size_t kFields = 6;
  constexpr std::uint64_t kMaxItems = std::uint64_t{1} << 32U;
  if (type_name(memory, queue) != "_queue.SimpleQueue") {
    return {};
  }
  std::array<std::uint64_t, kFields> fields = {};
  for (std::size_t i = 0; i < kFields; ++i) {
    fields[i] = memory.value<std::uint64_t>(queue + memory.layout().object.head + i * kPointerSize)
                    .value_or(0);
  }
  if (type_name(memory, Addr{fields[2]}) == "list") {
    return list_from(memory, Addr{fields[2]}, fields[3], limit);
  }
  const auto [flag, put, get, array, length, count] = fields;
  if (get >= length || count > length || length > kMaxItems) {
    return {};
  }
  const std::uint64_t wanted = std::min<std::uint64_t>(count, limit);
  const std::uint64_t to_end = std::min(wanted, length - get);
  std::vector<Addr> items = read_items(memory, Addr{array}, get, to_end);
  const std::vector<Addr> rest = read_items(memory, Addr{array}, 0, wanted - to_end);
  items.insert(items.end(), rest.begin(), rest.end());
  return items;
}

}  // namespace oddrank::cpython
