// Finds a module's table of unwind information in the target: the sorted index that the linker puts
// into .eh_frame_hdr (Linux Standard Base, "Exception Frame Header"). Static programs have no
// index; it is built here from .eh_frame in the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "elf/module_map.h"
#include "unwind/unwind_memory.h"

namespace oddrank::unwind {

struct UnwindTable {
  std::uint64_t header = 0;   // absolute address that entries are relative to
  std::uint64_t entries = 0;  // absolute address of the first entry: two signed 32-bit offsets each
  std::uint64_t count = 0;
};

// Finds the table; nullopt if the module has no unwind information, or none in a form that
// compilers write. `memory` keeps a table that is built here.
std::optional<UnwindTable> find_unwind_table(const elf::Module& module,
                                             elf::ModuleMap& modules,
                                             UnwindMemory& memory);

struct FrameDescription {
  std::uint64_t start = 0;  // first address of its code
  std::uint64_t entry = 0;  // address of the entry (FDE) itself
};

// Builds the index from the bytes of .eh_frame, which lies at `address`; all addresses are the
// file's own. Sorted by start. Skips entries in forms that compilers do not write, and
// stops at the first damaged entry. (Linux Standard Base, "Exception Frames".)
std::vector<FrameDescription> index_eh_frame(std::span<const std::byte> section,
                                             std::uint64_t address);

}  // namespace oddrank::unwind
