// A symbol's name without the suffixes of compilers and linkers.
#pragma once

#include <string>
#include <string_view>

namespace oddrank::elf {

// "step.constprop.0.cold" -> "step", "memcpy@@GLIBC_2.14" -> "memcpy". Parts that a person wrote
// stay: "lock.release".
std::string plain_symbol(std::string_view symbol);

}  // namespace oddrank::elf
