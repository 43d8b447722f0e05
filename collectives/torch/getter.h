// The offset of a member, from the machine code of the function that returns it: a compiled getter
// is one load and a return, so a library shows its own layout, whatever its version and even if it
// is stripped.
//
// x86-64: `mov disp(%rdi),%rax; ret`, as all public wheels of torch 2.4 to 2.15 have it; aarch64:
// `ldr x0,[x0,#disp]; ret`. Each machine's source is machine/NAME_getter.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace oddrank::collectives {

// How many bytes of a function are looked at.
inline constexpr std::size_t kGetterBytes = 16;

// Returns the offset of the 64-bit member that the function returns; nullopt if it is no such
// getter. `code`: the first bytes of the function.
std::optional<std::uint32_t> offset_in_getter(std::span<const std::byte> code);

// Returns whether the function returns at once, and does nothing.
bool is_empty_function(std::span<const std::byte> code);

}  // namespace oddrank::collectives
