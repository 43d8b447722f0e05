// Reads numbers from bytes that were copied from a target or a file, and may be too short.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>

namespace oddrank::cpython {

// Returns the number at the offset; 0 if the bytes end before its end.
template <typename T>
T number_at(std::span<const std::byte> bytes, std::size_t offset) {
  T value{};
  if (offset <= bytes.size() && bytes.size() - offset >= sizeof value) {
    std::memcpy(&value, bytes.data() + offset, sizeof value);
  }
  return value;
}

}  // namespace oddrank::cpython
