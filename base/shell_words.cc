#include "base/shell_words.h"

#include <algorithm>
#include <utility>

#include "base/ascii.h"

namespace oddrank {
namespace {

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) ||
         contains("_-+./:,@%", std::string_view(&c, 1));
}

bool separates_words(char c) {
  return c == ' ' || c == '\t' || c == '\n';
}

// Returns whether a backslash before the character hides what it means. `quote`: the kind of quotes
// that they stand in, or 0.
bool is_escaped(char c, char quote) {
  return quote == 0 || (quote == '"' && contains("\"\\$`", std::string_view(&c, 1)));
}

}  // namespace

std::string shell_quoted(std::string_view word) {
  // A word with '-' in front is an option, whatever the quotes; the caller puts "--" before it.
  if (!word.empty() && std::all_of(word.begin(), word.end(), is_plain)) {
    return std::string(word);
  }
  std::string quoted = "'";
  for (const char byte : word) {
    quoted += byte == '\'' ? std::string("'\\''") : std::string(1, byte);
  }
  return quoted + "'";
}

Result<std::vector<std::string>> split_as_shell(std::string_view text) {
  std::vector<std::string> words;
  bool in_word = false;
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char byte = text[i];
    if (quote == 0 && separates_words(byte)) {
      in_word = false;
      continue;
    }
    if (!std::exchange(in_word, true)) {
      words.emplace_back();
    }
    if (quote == 0 && (byte == '\'' || byte == '"')) {
      quote = byte;
    } else if (quote != 0 && byte == quote) {
      quote = 0;
    } else if (byte == '\\' && i + 1 < text.size() && is_escaped(text[i + 1], quote)) {
      words.back() += text[++i];
    } else {
      words.back() += byte;
    }
  }
  if (quote != 0) {
    return fail(Errc::kUsage, "a quote is not closed: " + std::string(text),
                "quote words of a command as in a shell");
  }
  return words;
}

}  // namespace oddrank
