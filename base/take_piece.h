// Takes pieces from an untrusted text one by one: for a text of empty lines, a list of all pieces
// (base/split.h) would be many times as large as the text.
#pragma once

#include <string_view>

namespace oddrank {

// Removes the first piece and its separator from `text` and returns the piece: while
// (!text.empty()) { line = take_piece(text, '\n'); ... } yields the pieces that split yields.
inline std::string_view take_piece(std::string_view& text, char separator) {
  const auto at = text.find(separator);
  const std::string_view piece = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + 1);
  return piece;
}

}  // namespace oddrank
