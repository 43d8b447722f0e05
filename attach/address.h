// An address in a target's memory: a separate type, so that it is never dereferenced here.
//
// A value that a frame holds while the function that it has called runs.
#pragma once

#include <compare>
#include <cstdint>

namespace oddrank::attach {

enum class Addr : std::uint64_t {};

constexpr std::uint64_t value_of(Addr address) {
  return static_cast<std::uint64_t>(address);
}
// Wraps round like the hardware; the result is checked when it is read.
constexpr Addr operator+(Addr address, std::uint64_t bytes) {
  return Addr{value_of(address) + bytes};
}
constexpr Addr operator-(Addr address, std::uint64_t bytes) {
  return Addr{value_of(address) - bytes};
}

// A register that calls preserve and that this function has changed; or a word of its part of the
// stack, which may also be a saved register of its caller, or left over from an earlier call.
struct PreservedValue {
  std::uint64_t value = 0;
  std::uint64_t address = 0;  // on the stack; 0: a register
};

}  // namespace oddrank::attach
