// Owner of libelf's handle of a file. Private to elf/.
#pragma once

#include <libelf.h>

#include <memory>

namespace oddrank::elf {

struct ElfEnd {
  void operator()(Elf* elf) const { ::elf_end(elf); }
};

using ElfHandle = std::unique_ptr<Elf, ElfEnd>;

}  // namespace oddrank::elf
