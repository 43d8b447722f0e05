// A piece of an ELF file's address space: a section, a symbol, a table.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace oddrank::elf {

struct ElfRange {
  std::uint64_t address = 0;
  std::uint64_t size = 0;
};

// The range of the function that contains an address, as far as symbols show it.
struct CodeRange {
  std::uint64_t start = 0;
  std::uint64_t end = UINT64_MAX;
  // A symbol contains the address. If false, this is the gap between the nearest two symbols, which
  // may hold several functions.
  bool is_function = false;
};

// A range with the name of its symbol.
struct NamedRange {
  std::string name;
  ElfRange range;
};

// A search for static variables of functions: finds all defined variables with such a size, address
// and prefix of the name; names are as in the file. Size and address are compared first: names are
// spread over tens of megabytes.
struct VariableSearch {
  std::string_view prefix;
  std::array<std::uint64_t, 2> sizes{};
  ElfRange within;
  std::vector<NamedRange> found;
};

}  // namespace oddrank::elf
