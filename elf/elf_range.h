// A piece of an ELF file's address space: a section, a symbol, a table.
#pragma once

#include <cstdint>
#include <string>

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

}  // namespace oddrank::elf
