// Takes one piece after the other off a text, if a list of all pieces (base/split.h) could be many
// times as large as the text: a file from anywhere may have nothing but empty lines.
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
