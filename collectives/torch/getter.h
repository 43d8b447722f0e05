// The offset of a member, from the machine code of its getter: one load and a return. So a library
// of any version, even a stripped one, shows its own layout.
//
// x86-64: `mov disp(%rdi),%rax; ret`, as all public wheels of torch 2.4 to 2.15 have it; aarch64:
// `ldr x0,[x0,#disp]; ret`. Each machine's source is machine/NAME_getter.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace oddrank::collectives {

// How many bytes of a function are read.
inline constexpr std::size_t kGetterBytes = 16;

// Returns the offset of the 64-bit member that the function returns; nullopt if the function is not
// such a getter. `code`: its first bytes.
std::optional<std::uint32_t> offset_in_getter(std::span<const std::byte> code);

// Returns whether the function does nothing but return.
bool is_empty_function(std::span<const std::byte> code);

}  // namespace oddrank::collectives
