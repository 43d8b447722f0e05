// Classes and case of ASCII characters, independent of the locale. Bytes beyond ASCII are in no
// class and have no case. Also whether a text contains another.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace oddrank {

// Returns whether it is one of 0 to 9.
constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Returns whether it is one of a to z or A to Z.
constexpr bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// Returns whether a terminal may act on the byte: 0x00 to 0x1f, and 0x7f.
constexpr bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 || byte == 0x7f;
}

// Returns whether it is a blank or a visible ASCII character: 0x20 to 0x7e.
constexpr bool is_printable_ascii(char c) {
  return c >= ' ' && c <= '~';
}

// Returns whether the part occurs in the text: C++23's contains().
inline bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// Returns the text with A to Z in lower case, and all other bytes as they are.
inline std::string lower_case(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return lower;
}

}  // namespace oddrank
