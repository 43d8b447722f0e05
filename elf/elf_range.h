// A piece of an ELF file's address space: a section, a symbol, a table.
#pragma once

#include <cstdint>

namespace oddrank::elf {

struct ElfRange {
  std::uint64_t address = 0;
  std::uint64_t size = 0;
};

// A range with the name of its symbol.
struct NamedRange {
  std::string name;
  ElfRange range;
};

}  // namespace oddrank::elf
