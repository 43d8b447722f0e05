#include "base/hex.h"

#include <array>
#include <charconv>
#include <string_view>

namespace oddrank {

std::string hex_number(std::uint64_t value) {
  std::array<char, 16> digits{};
  const auto written = std::to_chars(digits.data(), digits.data() + digits.size(), value, 16);
  return {digits.data(), written.ptr};
}

std::string hex_bytes(std::span<const std::byte> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  hex.reserve(bytes.size() * 2);
  for (const std::byte byte : bytes) {
    hex.push_back(kDigits[std::to_integer<unsigned>(byte) >> 4U]);
    hex.push_back(kDigits[std::to_integer<unsigned>(byte) & 15U]);
  }
  return hex;
}

}  // namespace oddrank
