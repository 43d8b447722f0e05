// Splits text into pieces without copying. The pieces live as long as the text.
#pragma once

#include <string_view>
#include <vector>

namespace oddrank {

// "a,b,,c" by ',' -> "a" "b" "" "c"; an empty text has no pieces.
inline std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  while (!text.empty()) {
    const auto at = text.find(separator);
    pieces.push_back(text.substr(0, at));
    if (at == std::string_view::npos) {
      break;
    }
    text.remove_prefix(at + 1);
  }
  return pieces;
}

// Returns the words between runs of blanks, tabs and line ends.
inline std::vector<std::string_view> split_blanks(std::string_view text) {
  std::vector<std::string_view> words;
  while (true) {
    const auto start = text.find_first_not_of(" \t\n");
    if (start == std::string_view::npos) {
      return words;
    }
    text.remove_prefix(start);
    const auto end = text.find_first_of(" \t\n");
    words.push_back(text.substr(0, end));
    if (end == std::string_view::npos) {
      return words;
    }
    text.remove_prefix(end);
  }
}

inline std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) {
    return {};
  }
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

}  // namespace oddrank
