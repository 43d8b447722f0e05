#include "base/shell_words.h"

#include <algorithm>

#include "base/ascii.h"

namespace oddrank {
namespace {

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) ||
         contains("_-+./:,@%", std::string_view(&c, 1));
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

}  // namespace oddrank
