#include <algorithm>
#include <array>
#include <cstring>

#include "collectives/torch/cxx_object.h"

namespace oddrank::collectives {
namespace {

constexpr std::array<unsigned char, 4> kLandingPad = {0xf3, 0x0f, 0x1e, 0xfa};  // endbr64
constexpr std::array<unsigned char, 3> kLoadFar = {0x48, 0x8b, 0x87};           // disp32(%rdi)
constexpr std::array<unsigned char, 3> kLoadNear = {0x48, 0x8b, 0x47};          // disp8(%rdi)
constexpr unsigned char kReturn = 0xc3;

template <std::size_t N>
bool take(std::span<const std::byte>& code, const std::array<unsigned char, N>& bytes) {
  if (code.size() < N || std::memcmp(code.data(), bytes.data(), N) != 0) {
    return false;
  }
  code = code.subspan(N);
  return true;
}

bool returns(std::span<const std::byte> code) {
  return !code.empty() && code.front() == std::byte{kReturn};
}

}  // namespace

std::optional<std::uint32_t> offset_in_getter(std::span<const std::byte> code) {
  take(code, kLandingPad);
  if (take(code, kLoadFar)) {
    std::uint32_t offset = 0;
    if (code.size() <= sizeof offset || !returns(code.subspan(sizeof offset))) {
      return std::nullopt;
    }
    std::memcpy(&offset, code.data(), sizeof offset);
    return offset;
  }
  constexpr std::byte kNegative{0x80};
  if (take(code, kLoadNear) && code.size() > 1 && returns(code.subspan(1)) &&
      code.front() < kNegative) {
    return std::to_integer<std::uint32_t>(code.front());
  }
  return std::nullopt;
}

bool is_empty_function(std::span<const std::byte> code) {
  take(code, kLandingPad);
  return returns(code);
}

}  // namespace oddrank::collectives
