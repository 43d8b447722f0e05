// The dynamic symbols of a module out of a target's memory, for a module whose file is gone or has
// become another one: the dynamic linker needs them, so they are mapped.
#pragma once

#include <cstddef>
#include <vector>

#include "attach/target.h"
#include "base/result.h"
#include "elf/module_map.h"

namespace oddrank::elf {

// The bytes of a small ELF file that ElfImage can read: the module's .dynsym and .dynstr, and its
// build id. For the vdso: its whole image. kNotFound: the module has no dynamic symbols (a static
// program), or its header is not mapped. kBadData: what lies there is no symbol table.
Result<std::vector<std::byte>> copy_mapped_symbols(const attach::Target& target,
                                                   const Module& module);

}  // namespace oddrank::elf
