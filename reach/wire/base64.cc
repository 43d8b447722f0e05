#include "reach/wire/base64.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace oddrank::reach {
namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint8_t kForeign = 0xff;

constexpr std::array<std::uint8_t, 256> make_values() {
  std::array<std::uint8_t, 256> values{};
  for (std::uint8_t& value : values) {
    value = kForeign;
  }
  for (std::size_t i = 0; i < kAlphabet.size(); ++i) {
    values[static_cast<unsigned char>(kAlphabet[i])] = static_cast<std::uint8_t>(i);
  }
  return values;
}

constexpr std::array<std::uint8_t, 256> kValues = make_values();

std::uint32_t byte_at(std::string_view bytes, std::size_t at) {
  return at < bytes.size() ? static_cast<unsigned char>(bytes[at]) : 0U;
}

}  // namespace

std::string base64_encode(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::uint32_t group =
        (byte_at(bytes, at) << 16U) | (byte_at(bytes, at + 1) << 8U) | byte_at(bytes, at + 2);
    text += kAlphabet[(group >> 18U) & 63U];
    text += kAlphabet[(group >> 12U) & 63U];
    text += at + 1 < bytes.size() ? kAlphabet[(group >> 6U) & 63U] : '=';
    text += at + 2 < bytes.size() ? kAlphabet[group & 63U] : '=';
  }
  return text;
}

std::optional<std::string> base64_decode(std::string_view text) {
  if (text.size() % 4 != 0) {
    return std::nullopt;
  }
  std::size_t padding = 0;
  while (padding < 2 && padding < text.size() && text[text.size() - 1 - padding] == '=') {
    ++padding;
  }
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  for (std::size_t at = 0; at < text.size(); at += 4) {
    std::uint32_t group = 0;
    for (std::size_t i = at; i < at + 4; ++i) {
      const bool pad = i >= text.size() - padding;
      const std::uint8_t value = pad ? 0 : kValues[static_cast<unsigned char>(text[i])];
      if (value == kForeign) {
        return std::nullopt;
      }
      group = (group << 6U) | value;
    }
    bytes += static_cast<char>(group >> 16U);
    bytes += static_cast<char>((group >> 8U) & 0xffU);
    bytes += static_cast<char>(group & 0xffU);
  }
  bytes.resize(bytes.size() - padding);
  return bytes;
}

}  // namespace oddrank::reach
