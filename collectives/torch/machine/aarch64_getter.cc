#include <algorithm>
#include <array>
#include <cstring>

#include "collectives/torch/cxx_object.h"

namespace oddrank::collectives {
namespace {

constexpr std::array<std::uint32_t, 2> kLandings = {0xd503245f, 0xd503233f};  // bti c; paciasp
constexpr std::array<std::uint32_t, 2> kReturns = {0xd65f03c0, 0xd65f0bff};   // ret; retaa
constexpr std::uint32_t kAuthenticate = 0xd50323bf;                           // autiasp

bool is_in(std::uint32_t word, const std::array<std::uint32_t, 2>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Returns the instructions behind those that only guard the function; zeros past the end of the
// code.
std::array<std::uint32_t, 2> body_of(std::span<const std::byte> code) {
  std::array<std::uint32_t, kGetterBytes / 4> words{};
  std::memcpy(words.data(), code.data(), std::min(code.size(), sizeof words));
  std::array<std::uint32_t, 2> body{};
  std::size_t count = 0;
  for (const std::uint32_t word : words) {
    const bool guard = word == kAuthenticate || (count == 0 && is_in(word, kLandings));
    if (!guard && count < body.size()) {
      body[count++] = word;
    }
  }
  return body;
}

}  // namespace

std::optional<std::uint32_t> offset_in_getter(std::span<const std::byte> code) {
  constexpr std::uint32_t kLoad = 0xf9400000;  // ldr x0, [x0, #8 * number]
  constexpr std::uint32_t kNumber = 0x003ffc00;
  constexpr std::uint32_t kNumberShift = 10;
  const auto [load, end] = body_of(code);
  if ((load & ~kNumber) != kLoad || !is_in(end, kReturns)) {
    return std::nullopt;
  }
  return ((load & kNumber) >> kNumberShift) * 8;
}

bool is_empty_function(std::span<const std::byte> code) {
  return is_in(body_of(code).front(), kReturns);
}

}  // namespace oddrank::collectives
