// A piece of an ELF file's address space: a section, a symbol, a table.
#pragma once

#include <cstdint>
#include <string>

namespace oddrank::elf {

struct ElfRange {
  std::uint64_t address = 0;
  std::uint64_t size = 0;
};

// Where the code at an address begins and ends, as far as symbols tell.
struct CodeRange {
  std::uint64_t start = 0;
  std::uint64_t end = UINT64_MAX;
  // A symbol contains the address. Otherwise this is the room between the nearest two symbols, in
  // which there may be several functions.
  bool is_function = false;
};

// A range with the name of its symbol.
struct NamedRange {
  std::string name;
  ElfRange range;
};

}  // namespace oddrank::elf
