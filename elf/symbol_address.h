// The address of a global variable with a dynamic symbol.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "attach/target.h"
#include "elf/module_map.h"

namespace oddrank::elf {

// Returns the address in the target of the first of these symbols that the module defines with that
// size; null if there is none, or the symbols can be read neither from the module's file nor, if
// that is gone, from the target's memory. `size` in bytes, 0: any.
//
// A library's variable may be in the program that uses it (a copy relocation). So ask the program
// first, or follow a pointer in the library.
attach::Addr symbol_address(const attach::Target& target,
                            ModuleMap& modules,
                            const Module& module,
                            std::span<const std::string_view> names,
                            std::uint64_t size);

}  // namespace oddrank::elf
