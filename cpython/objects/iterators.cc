#include "cpython/objects/iterators.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <string_view>

#include "cpython/objects/types.h"

namespace oddrank::cpython {
namespace {

constexpr std::uint8_t kCountsDown = 12;  // from 3.12 on a range's iterator has what is left
constexpr int kMaxIteratorDepth = 3;

// Up to 3.11: the index, start, step and length; later: the next number, the step and what is left.
std::optional<std::int64_t> left_of_range(PythonMemory& memory, Addr fields) {
  if (memory.layout().semantics.opcodes >= kCountsDown) {
    return memory.value<std::int64_t>(fields + 2 * kPointerSize);
  }
  const auto index = memory.value<std::int64_t>(fields);
  const auto length = memory.value<std::int64_t>(fields + 3 * kPointerSize);
  return index && length && *index >= 0 && *index <= *length ? std::optional(*length - *index)
                                                             : std::nullopt;
}

std::optional<std::int64_t> behind(PythonMemory& memory, Addr sequence, std::int64_t index) {
  const auto size = memory.value<std::int64_t>(sequence + memory.layout().object.size);
  return size && index >= 0 && index <= *size ? std::optional(*size - index) : std::nullopt;
}

// The index of the next item, and the list or tuple; null at the end.
std::optional<std::int64_t> left_of_sequence(PythonMemory& memory, Addr fields) {
  const auto index = memory.value<std::int64_t>(fields);
  const Addr sequence = memory.pointer_or_null(fields + kPointerSize);
  return index && sequence != Addr{} ? behind(memory, sequence, *index) : std::nullopt;
}

using LeftOfGenerator = std::function<std::optional<std::int64_t>(Addr)>;

// Iterators that keep the count itself: a dict's, a set's and a deque's.
struct CountedIterator {
  std::string_view part;  // of its type's name
  std::uint64_t field;    // which has the count
};

constexpr auto kCounted = std::to_array<CountedIterator>({
    {"dict_keyiterator", 4},
    {"dict_valueiterator", 4},
    {"dict_itemiterator", 4},
    {"dict_reversekeyiterator", 4},
    {"dict_reversevalueiterator", 4},
    {"dict_reverseitemiterator", 4},
    {"set_iterator", 3},
    {"collections._deque_iterator", 4},
    {"_collections._deque_iterator", 4},
});

class IteratorReader {
 public:
  IteratorReader(PythonMemory& memory, const LeftOfGenerator& of_generator)
      : memory_(memory), of_generator_(of_generator) {}

  std::optional<std::int64_t> left(Addr iterator, int depth);

 private:
  // Returns the smallest number of a tuple of iterators.
  std::optional<std::int64_t> least(Addr tuple, int depth);

  PythonMemory& memory_;
  const LeftOfGenerator& of_generator_;
};

std::optional<std::int64_t> IteratorReader::least(Addr tuple, int depth) {
  constexpr std::int64_t kMaxIterators = 8;
  const auto size = length_of(memory_, tuple);
  std::optional<std::int64_t> least;
  for (std::int64_t i = 0; size && i < std::min(*size, kMaxIterators); ++i) {
    const Addr at =
        tuple + memory_.layout().object.tuple_items + static_cast<std::uint64_t>(i) * kPointerSize;
    const auto one = left(memory_.pointer_or_null(at), depth);
    least = one && (!least || *one < *least) ? one : least;
  }
  return least;
}

std::optional<std::int64_t> IteratorReader::left(Addr iterator, int depth) {
  if (iterator == Addr{} || depth == kMaxIteratorDepth) {
    return std::nullopt;
  }
  const std::string type = type_name(memory_, iterator);
  const Addr fields = iterator + memory_.layout().object.head;
  const auto pointer = [&](std::uint64_t field) {
    return memory_.pointer_or_null(fields + field * kPointerSize);
  };
  if (type == "range_iterator") {
    return left_of_range(memory_, fields);
  }
  if (type == "list_iterator" || type == "tuple_iterator") {
    return left_of_sequence(memory_, fields);
  }
  if (type == "list_reverseiterator" || type == "reversed") {
    const auto index = memory_.value<std::int64_t>(fields);
    constexpr std::int64_t kMaxIndex = std::numeric_limits<std::int64_t>::max() - 1;
    return index && *index <= kMaxIndex ? std::optional(*index + 1) : std::nullopt;
  }
  if (type == "generator") {
    return of_generator_(iterator);
  }
  if (type == "enumerate" || type == "filter") {
    return left(pointer(1), depth + 1);
  }
  if (type == "map" || type == "zip") {
    return least(pointer(type == "map" ? 0 : 1), depth + 1);
  }
  const auto counted = std::ranges::find(kCounted, type, &CountedIterator::part);
  return counted == kCounted.end()
             ? std::nullopt
             : memory_.value<std::int64_t>(fields + counted->field * kPointerSize);
}

}  // namespace

std::optional<std::int64_t> items_left(PythonMemory& memory,
                                       Addr iterator,
                                       const LeftOfGenerator& of_generator) {
  const auto left = IteratorReader(memory, of_generator).left(iterator, 0);
  return left && *left >= 0 ? left : std::nullopt;
}

std::optional<std::int64_t> items_behind(PythonMemory& memory, Addr sequence, std::int64_t index) {
  const std::string type = sequence == Addr{} ? std::string() : type_name(memory, sequence);
  return type == "list" || type == "tuple" ? behind(memory, sequence, index) : std::nullopt;
}

std::optional<std::int64_t> length_of(PythonMemory& memory, Addr container) {
  if (container == Addr{}) {
    return std::nullopt;
  }
  const ObjectOffsets& offsets = memory.layout().object;
  const std::string type = type_name(memory, container);
  if (is_instance(memory, container, TypeFlag::kList) ||
      is_instance(memory, container, TypeFlag::kTuple) || type == "collections.deque") {
    return memory.value<std::int64_t>(container + offsets.size);
  }
  if (is_instance(memory, container, TypeFlag::kDict)) {
    return memory.value<std::int64_t>(container + offsets.dict_used);
  }
  // The count of members lies before the mask.
  return type == "set" || type == "frozenset"
             ? memory.value<std::int64_t>(container + offsets.set_mask - kPointerSize)
             : std::nullopt;
}

}  // namespace oddrank::cpython
