#include "base/printable.h"

#include <algorithm>

namespace oddrank {
namespace {

bool is_continuation(char byte) {
  return (static_cast<unsigned char>(byte) & 0xc0U) == 0x80U;
}

// Returns the number of bytes of the well-formed code point at the start of `text`; 0 if there is
// none.
std::size_t code_point_size(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text.front());
  const std::size_t size = lead < 0x80U                    ? 1
                           : lead >= 0xc2U && lead < 0xe0U ? 2
                           : lead >= 0xe0U && lead < 0xf0U ? 3
                           : lead >= 0xf0U && lead < 0xf5U ? 4
                                                           : 0;
  if (size == 0 || size > text.size() ||
      !std::all_of(text.begin() + 1, text.begin() + static_cast<std::ptrdiff_t>(size),
                   is_continuation)) {
    return 0;
  }
  const auto second = size > 1 ? static_cast<unsigned char>(text[1]) : 0U;
  // Rejects overlong forms, surrogates, code points beyond U+10FFFF, and the C1 controls (0x9b is
  // an escape prefix).
  const bool refused = (lead == 0xe0U && second < 0xa0U) || (lead == 0xedU && second > 0x9fU) ||
                       (lead == 0xf0U && second < 0x90U) || (lead == 0xf4U && second > 0x8fU) ||
                       (lead == 0xc2U && second < 0xa0U);
  return refused ? 0 : size;
}

}  // namespace

std::string printable(std::string_view text, std::size_t limit) {
  std::string safe;
  while (!text.empty()) {
    const std::size_t size = code_point_size(text);
    if (safe.size() + std::max<std::size_t>(size, 1) > limit) {
      break;
    }
    const auto lead = static_cast<unsigned char>(text.front());
    if (size == 0 || lead < 0x20U || lead == 0x7fU) {
      safe += '?';
    } else {
      safe += text.substr(0, size);
    }
    text.remove_prefix(std::max<std::size_t>(size, 1));
  }
  return safe;
}

std::size_t columns(std::string_view text) {
  return text.size() -
         static_cast<std::size_t>(std::count_if(text.begin(), text.end(), is_continuation));
}

std::string cut_end(std::string_view text, std::size_t width) {
  if (columns(text) <= width) {
    return std::string(text);
  }
  const std::size_t room = width > 3 ? width - 3 : 0;
  std::size_t bytes = 0;
  for (std::size_t seen = 0; bytes < text.size(); ++bytes) {
    if (!is_continuation(text[bytes]) && seen++ == room) {
      break;
    }
  }
  return std::string(text.substr(0, bytes)) + "...";
}

std::string cut_front(std::string_view text, std::size_t width) {
  if (columns(text) <= width) {
    return std::string(text);
  }
  std::size_t drop = columns(text) - (width > 3 ? width - 3 : 0);
  while (!text.empty() && (drop > 0 || is_continuation(text.front()))) {
    drop -= is_continuation(text.front()) ? 0 : 1;
    text.remove_prefix(1);
  }
  return "..." + std::string(text);
}

std::vector<std::string> wrap(std::string_view text, std::size_t width) {
  std::vector<std::string> lines;
  std::string line;
  while (!text.empty()) {
    const std::size_t blank = text.find(' ');
    const std::string_view word = text.substr(0, blank);
    if (!line.empty() && columns(line) + 1 + columns(word) > width) {
      lines.push_back(std::move(line));
      line.clear();
    }
    line += (line.empty() ? "" : " ") + std::string(word);
    text.remove_prefix(blank == std::string_view::npos ? text.size() : blank + 1);
  }
  if (!line.empty()) {
    lines.push_back(std::move(line));
  }
  return lines;
}

std::string count_of(std::size_t count, std::string_view noun) {
  return std::to_string(count) + ' ' + std::string(noun) + (count == 1 ? "" : "s");
}

}  // namespace oddrank
