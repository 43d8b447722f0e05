// The dynamic symbols of a module, read from a target's memory, for a module whose file is gone or
// was replaced. The dynamic linker needs them, so they are always mapped.
#pragma once

#include <cstddef>
#include <vector>

#include "attach/target.h"
#include "base/result.h"
#include "elf/module_map.h"

namespace oddrank::elf {

// Returns a small ELF file that ElfImage can read: the module's .dynsym and .dynstr, and its build
// id. For the vdso, returns its whole image. Fails with kNotFound if the module has no dynamic
// symbols (a static program) or its header is not mapped, with kBadData if the bytes are not a
// symbol table.
Result<std::vector<std::byte>> copy_mapped_symbols(const attach::Target& target,
                                                   const Module& module);

}  // namespace oddrank::elf
