// One piece after the other of a text, where a list of all pieces (base/split.h) would be many
// times as large as the text: a file of empty lines, that nobody vouches for.
#pragma once

#include <string_view>

namespace oddrank {

// Takes the first piece and its separator off `text`:
// while (!text.empty()) { line = take_piece(text, '\n'); ... } gives the pieces that split gives.
inline std::string_view take_piece(std::string_view& text, char separator) {
  const auto at = text.find(separator);
  const std::string_view piece = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + 1);
  return piece;
}

}  // namespace oddrank
