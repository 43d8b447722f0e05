#include "base/printable.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/ascii.h"

namespace oddrank {
namespace {

bool is_continuation(char byte) {
  return (static_cast<unsigned char>(byte) & 0xc0U) == 0x80U;
}

struct CodePointRange {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
};

// Code points that are not seen themselves, but change how the text around them looks: they turn
// its direction round, break its lines, or hide. (Unicode: Bidi_Control; General_Category Zl, Zp;
// the format characters that no script needs to be written.)
constexpr std::array<CodePointRange, 11> kUnseen = {{
    {0x061c, 0x061c},     // Arabic letter mark
    {0x180e, 0x180e},     // Mongolian vowel separator
    {0x200b, 0x200b},     // zero-width space
    {0x200e, 0x200f},     // left-to-right and right-to-left marks
    {0x2028, 0x202e},     // line and paragraph separators, embeddings and overrides
    {0x2060, 0x206f},     // word joiner, invisible operators, isolates
    {0xfeff, 0xfeff},     // byte order mark
    {0xfff9, 0xfffb},     // interlinear annotations
    {0x1d173, 0x1d17a},   // formatting of music
    {0xe0000, 0xe007f},   // tags
    {0xf0000, 0x10ffff},  // private use
}};

bool is_unseen(std::string_view code_point) {
  if (code_point.size() < 2) {
    return false;
  }
  const auto lead = static_cast<unsigned char>(code_point.front());
  std::uint32_t number = lead & (0x7fU >> code_point.size());
  for (const char byte : code_point.substr(1)) {
    number = number << 6U | (static_cast<unsigned char>(byte) & 0x3fU);
  }
  return std::any_of(kUnseen.begin(), kUnseen.end(), [number](const CodePointRange& range) {
    return number >= range.first && number <= range.last;
  });
}

// Returns the number of bytes of the well-formed code point at the start of `text`; 0 if there is
// none, or one that must not be printed.
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
  return refused || is_unseen(text.substr(0, size)) ? 0 : size;
}

// Returns the length of a colour's escape sequence ("ESC [ 1 ; 31 m") at the start of the text; 0
// if there is none.
std::size_t color_size(std::string_view text) {
  if (!text.starts_with("\x1b[")) {
    return 0;
  }
  const std::size_t end = text.find_first_not_of("0123456789;", 2);
  return end != std::string_view::npos && text[end] == 'm' ? end + 1 : 0;
}

// Returns the number of bytes at the start that are ASCII and need no look at each.
std::size_t plain_size(std::string_view text) {
  const auto end = std::find_if(text.begin(), text.end(), [](char c) {
    return !is_printable_ascii(c) && c != '\n' && c != '\t';
  });
  return static_cast<std::size_t>(end - text.begin());
}

}  // namespace

std::string printable_text(std::string_view text, bool colors) {
  std::string safe;
  safe.reserve(text.size());
  while (!text.empty()) {
    std::size_t size = plain_size(text);
    if (size == 0) {
      size = colors ? color_size(text) : 0;
    }
    if (size == 0 && !is_control(text.front())) {
      size = code_point_size(text);
    }
    safe += size == 0 ? std::string_view("?") : text.substr(0, size);
    text.remove_prefix(std::max<std::size_t>(size, 1));
  }
  return safe;
}

std::string printable(std::string_view text, std::size_t limit) {
  // Most texts are ASCII, and as they are.
  const auto ascii = std::find_if_not(text.begin(), text.end(), is_printable_ascii);
  std::string safe(text.substr(0, std::min(static_cast<std::size_t>(ascii - text.begin()), limit)));
  text.remove_prefix(safe.size());
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

std::string cut_middle(std::string_view text, std::size_t width) {
  const std::size_t room = width > 3 ? width - 3 : 0;
  if (columns(text) <= width) {
    return std::string(text);
  }
  const std::size_t last = columns(text.substr(text.rfind('.') + 1));
  const std::size_t tail = std::min(std::max(last, room / 2), room);
  const std::string head = cut_end(text, room - tail + 3);
  return head + cut_front(text, tail + 3).substr(3);
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
  const bool is_y = noun.ends_with('y') && noun.size() > 1 &&
                    std::string_view("aeiou").find(noun[noun.size() - 2]) == std::string_view::npos;
  std::string text = std::to_string(count) + ' ' + std::string(noun);
  if (count != 1 && is_y) {
    text.replace(text.size() - 1, 1, "ies");
  } else if (count != 1) {
    text += noun.ends_with('s') ? "es" : "s";
  }
  return text;
}

std::string join_clauses(std::string_view first, std::string_view second) {
  std::string clauses(first);
  clauses += first.empty() || second.empty() ? "" : "; ";
  clauses += second;
  return clauses;
}

}  // namespace oddrank
