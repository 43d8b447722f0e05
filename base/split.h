// Splits text into pieces without copying. The pieces live as long as the text.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace oddrank {

// Returns "a", "b", "", "c" for "a,b,,c" and ','; no pieces for an empty text.
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

// Removes the first piece and its separator from `text` and returns the piece: while
// (!text.empty()) { line = take_piece(text, '\n'); ... } yields the pieces that split yields. For
// an untrusted text: a list of the pieces of empty lines would be many times as large as the text.
inline std::string_view take_piece(std::string_view& text, char separator) {
  const auto at = text.find(separator);
  const std::string_view piece = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + 1);
  return piece;
}

// Returns the words between runs of blanks, tabs and line ends.
inline std::vector<std::string_view> split_blanks(std::string_view text) {
  const auto is_blank = [](char c) { return c == ' ' || c == '\t' || c == '\n'; };
  std::vector<std::string_view> words;
  std::size_t at = 0;
  while (true) {
    while (at < text.size() && is_blank(text[at])) {
      ++at;
    }
    if (at == text.size()) {
      return words;
    }
    const std::size_t start = at;
    while (at < text.size() && !is_blank(text[at])) {
      ++at;
    }
    if (words.empty()) {
      words.reserve(64);  // a line of /proc/PID/stat has 52, and there are thousands of them
    }
    words.push_back(text.substr(start, at - start));
  }
}

// Returns the text without blanks, tabs and line ends at both ends.
inline std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) {
    return {};
  }
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

}  // namespace oddrank
