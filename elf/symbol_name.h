// A symbol's name without the suffixes of compilers and linkers.
#pragma once

#include <string>
#include <string_view>

namespace oddrank::elf {

// Returns "step" for "step.constprop.0.cold", "memcpy" for "memcpy@@GLIBC_2.14". Other parts stay:
// "lock.release".
std::string plain_symbol(std::string_view symbol);

}  // namespace oddrank::elf
