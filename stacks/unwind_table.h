// Where a module's table of unwind information lies in the target: the sorted index that the linker
// puts into .eh_frame_hdr (Linux Standard Base, "Exception Frame Header").
#pragma once

#include <cstdint>
#include <optional>

#include "stacks/module_map.h"
#include "stacks/unwind_memory.h"

namespace oddrank::stacks {

struct UnwindTable {
  std::uint64_t header = 0;   // absolute address; entries are relative to it
  std::uint64_t entries = 0;  // absolute address of the first: two signed 32-bit offsets each
  std::uint64_t count = 0;
};

// nullopt: the module has none, or one in a form that linkers do not write for x86-64.
std::optional<UnwindTable> find_unwind_table(const Module& module,
                                             ModuleMap& modules,
                                             UnwindMemory& memory);

}  // namespace oddrank::stacks
