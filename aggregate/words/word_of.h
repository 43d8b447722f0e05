// Words of enumerators, in tables in the order of the enumeration.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace oddrank::aggregate {

// Returns the first word if the value is out of range: it may come from a file.
template <typename Value, std::size_t size>
constexpr std::string_view word_of(const std::array<std::string_view, size>& words, Value value) {
  const auto at = static_cast<std::size_t>(value);
  return words[at < size ? at : 0];
}

}  // namespace oddrank::aggregate
