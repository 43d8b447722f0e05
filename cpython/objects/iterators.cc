#include "cpython/objects/iterators.h"

#include <cstddef>
#include <string>

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

std::optional<std::int64_t> left_within(PythonMemory& memory, Addr iterator, int depth) {
  if (iterator == Addr{} || depth == kMaxIteratorDepth) {
    return std::nullopt;
  }
  const std::string type = type_name(memory, iterator);
  const Addr fields = iterator + memory.layout().object.head;
  const auto left =
      type == "range_iterator"                              ? left_of_range(memory, fields)
      : type == "list_iterator" || type == "tuple_iterator" ? left_of_sequence(memory, fields)
      : type == "enumerate"
          ? left_within(memory, memory.pointer_or_null(fields + kPointerSize), depth + 1)
          : std::nullopt;
  return left && *left >= 0 ? left : std::nullopt;
}

}  // namespace

std::optional<std::int64_t> items_left(PythonMemory& memory, Addr iterator) {
  return left_within(memory, iterator, 0);
}

std::optional<std::int64_t> items_behind(PythonMemory& memory, Addr sequence, std::int64_t index) {
  const std::string type = sequence == Addr{} ? std::string() : type_name(memory, sequence);
  return type == "list" || type == "tuple" ? behind(memory, sequence, index) : std::nullopt;
}

}  // namespace oddrank::cpython
