// An address in a target's memory: a separate type, so that it is never dereferenced here.
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

}  // namespace oddrank::attach
