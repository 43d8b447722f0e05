// Values in the bytes of a core file. Private to attach/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

namespace oddrank::attach {

using Bytes = std::span<const std::byte>;

inline constexpr std::uint64_t kPage = 4096;

// Returns the value that the bytes begin with; nullopt if there are too few.
template <typename T>
std::optional<T> front_of(Bytes bytes) {
  T value;
  if (bytes.size() < sizeof value) {
    return std::nullopt;
  }
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

}  // namespace oddrank::attach
