// Reads numbers from untrusted text: the whole text must be the number, and it must fit.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace oddrank {

// Returns the number; nullopt if the text is not one, or it does not fit into T. No blanks, no '+'.
template <typename T>
std::optional<T> parse_number(std::string_view text, int base = 10) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, base);
  if (error != std::errc{} || stop != end) {
    return std::nullopt;
  }
  return value;
}

}  // namespace oddrank
