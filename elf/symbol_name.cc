#include "elf/symbol_name.h"

#include <algorithm>
#include <array>

namespace oddrank::elf {
namespace {

bool is_number(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// Suffixes of clones that GCC and clang make of a function; some are followed by a number, which is
// a separate part.
bool is_clone_mark(std::string_view part) {
  static constexpr std::array<std::string_view, 10> kMarks = {
      "cold", "constprop",  "isra", "part", "lto_priv",
      "llvm", "localalias", "warm", "hot",  "clone"};
  return std::find(kMarks.begin(), kMarks.end(), part) != kMarks.end();
}

}  // namespace

std::string plain_symbol(std::string_view symbol) {
  symbol = symbol.substr(0, symbol.find('@'));
  while (true) {
    const auto dot = symbol.rfind('.');
    if (dot == std::string_view::npos || dot == 0) {
      return std::string(symbol);
    }
    const auto part = symbol.substr(dot + 1);
    if (is_clone_mark(part)) {
      symbol = symbol.substr(0, dot);
      continue;
    }
    const auto before = symbol.rfind('.', dot - 1);
    if (!is_number(part) || before == std::string_view::npos || before == 0 ||
        !is_clone_mark(symbol.substr(before + 1, dot - before - 1))) {
      return std::string(symbol);
    }
    symbol = symbol.substr(0, before);
  }
}

}  // namespace oddrank::elf
