// Gives any bytes to the code that prepares foreign texts for people: no crash, no hang, nothing
// that moves a cursor or turns a line, and no word that a shell would take apart.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/names/demangle.h"
#include "base/printable.h"
#include "base/secrets/mask_secrets.h"
#include "base/secrets/secret_names.h"
#include "base/shell_words.h"
#include "base/split.h"
#include "elf/cython_lines.h"
#include "elf/symbol_name.h"

namespace {

bool has_control(std::string_view text, std::string_view allowed) {
  for (const char byte : text) {
    const auto code = static_cast<unsigned char>(byte);
    if ((code < 0x20 || code == 0x7f) && allowed.find(byte) == std::string_view::npos) {
      return true;
    }
  }
  // U+202E, U+2066, U+2028, U+009B in UTF-8
  for (const char* unseen : {"\xe2\x80\xae", "\xe2\x81\xa6", "\xe2\x80\xa8", "\xc2\x9b"}) {
    if (text.find(unseen) != std::string_view::npos) {
      return true;
    }
  }
  return false;
}

// Returns the word that a shell makes of it; aborts if it makes several, or runs something.
std::string word_of_shell(std::string_view quoted) {
  std::string word;
  for (std::size_t at = 0; at < quoted.size(); ++at) {
    if (quoted[at] == '\'') {
      const std::size_t end = quoted.find('\'', at + 1);
      if (end == std::string_view::npos) {
        std::abort();
      }
      word += quoted.substr(at + 1, end - at - 1);
      at = end;
    } else if (quoted[at] == '\\' && at + 1 < quoted.size()) {
      word += quoted[++at];
    } else if (std::string_view(" \t\n\r;&|<>()$`\"*?[]{}~#!").find(quoted[at]) !=
               std::string_view::npos) {
      std::abort();
    } else {
      word += quoted[at];
    }
  }
  return word;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace oddrank;  // NOLINT(google-build-using-namespace)
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string shown = printable(text);
  if (has_control(shown, "") || shown.size() > 4096 || has_control(printable_text(text), "\n\t") ||
      word_of_shell(shell_quoted(text)) != text) {
    std::abort();
  }
  (void)elf::CythonLines(text).at(static_cast<std::uint32_t>(size));
  (void)columns(text);
  (void)cut_end(text, 40);
  (void)cut_front(text, 40);
  (void)wrap(text.substr(0, 4096), 40);
  const std::string masked = mask_text(text);
  if (masked.size() > 3 * size + 16) {
    std::abort();
  }
  const std::size_t end = text.find('=');
  (void)names_secret(text.substr(0, end));
  (void)is_innocent_value(text.substr(0, end), end == text.npos ? "" : text.substr(end + 1));
  std::vector<std::string> arguments;
  for (const std::string_view word : split(text.substr(0, 4096), '\0')) {
    arguments.emplace_back(word);
  }
  (void)mask_command(arguments);
  const std::string symbol(text.substr(0, 4096));
  (void)short_name(demangle(symbol));
  (void)elf::plain_symbol(symbol);
  return 0;
}
