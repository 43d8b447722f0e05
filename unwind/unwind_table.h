// Finds a module's table of unwind information in the target: the sorted index that the linker puts
// into .eh_frame_hdr (Linux Standard Base, "Exception Frame Header"). Static programs have no
// index; it is built here from .eh_frame in the file.
#pragma once

#include <cstdint>
#include <optional>

#include "elf/module_map.h"
#include "unwind/unwind_memory.h"

namespace oddrank::unwind {

struct UnwindTable {
  std::uint64_t header = 0;   // absolute address that entries are relative to
  std::uint64_t entries = 0;  // absolute address of the first entry: two signed 32-bit offsets each
  std::uint64_t count = 0;
};

// Finds the table; nullopt if the module has no unwind information, or none in a form that
// compilers write for x86-64. `memory` keeps a table that is built here.
std::optional<UnwindTable> find_unwind_table(const elf::Module& module,
                                             elf::ModuleMap& modules,
                                             UnwindMemory& memory);

}  // namespace oddrank::unwind
