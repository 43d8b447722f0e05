#include "cpython/objects/array_values.h"

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <optional>

#include "cpython/objects/scalars.h"

namespace oddrank::cpython {
namespace {

template <typename T>
std::string integer(RemoteReader& reader, Addr at) {
  const auto value = reader.value<T>(at);
  return value ? std::to_string(*value) : "";
}

template <typename T>
std::string real(RemoteReader& reader, Addr at) {
  const auto value = reader.value<T>(at);
  return value ? float_text(static_cast<double>(*value)) : "";
}

// The shortest text that reads back as this float, not as the double next to it.
std::string single(RemoteReader& reader, Addr at) {
  const auto value = reader.value<float>(at);
  return value ? float_text_32(*value) : "";
}

double half_value(std::uint16_t bits) {
  const int exponent = bits >> 10 & 0x1f;
  const int fraction = bits & 0x3ff;
  double value = 0;
  if (exponent == 0) {
    value = std::ldexp(fraction, -24);
  } else if (exponent == 31) {
    value = fraction == 0 ? HUGE_VAL : std::nan("");
  } else {
    value = std::ldexp(1024 + fraction, exponent - 25);
  }
  return (bits & 0x8000) != 0 ? -value : value;
}

// Prints with as many digits as tell neighbours apart.
std::string brief(double value, int digits) {
  std::array<char, 40> text{};
  const auto written = std::to_chars(text.data(), text.data() + text.size(), value,
                                     std::chars_format::general, digits);
  std::string result(text.data(), written.ptr);
  const bool looks_like_int = result.find_first_not_of("-0123456789") == std::string::npos;
  return looks_like_int ? result + ".0" : result;
}

std::string half(RemoteReader& reader, Addr at) {
  const auto bits = reader.value<std::uint16_t>(at);
  return bits ? brief(half_value(*bits), 5) : "";
}

std::string brain_half(RemoteReader& reader, Addr at) {
  const auto bits = reader.value<std::uint16_t>(at);
  if (!bits) {
    return {};
  }
  const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(*bits) << 16);
  return brief(static_cast<double>(value), 4);
}

std::string truth(RemoteReader& reader, Addr at) {
  const auto value = reader.value<std::uint8_t>(at);
  return !value ? "" : *value != 0 ? "True" : "False";
}

using Print = std::string (*)(RemoteReader& reader, Addr at);
struct Element {
  std::string_view type;
  Print print;
};
constexpr std::array<Element, 14> kElements = {{
    {"bool", truth},
    {"int8", integer<std::int8_t>},
    {"uint8", integer<std::uint8_t>},
    {"int16", integer<std::int16_t>},
    {"uint16", integer<std::uint16_t>},
    {"int32", integer<std::int32_t>},
    {"uint32", integer<std::uint32_t>},
    {"int64", integer<std::int64_t>},
    {"uint64", integer<std::uint64_t>},
    {"float16", half},
    {"bfloat16", brain_half},
    {"float32", single},
    {"float64", real<double>},
    {"longdouble", real<long double>},
}};

// Prints the dimensions from `at` on.
std::string dimension(RemoteReader& reader, const ArrayPlace& place, std::size_t at, Addr start) {
  if (at == place.sizes.size()) {
    return element_text(reader, start, place.type);
  }
  std::string text = "[";
  for (std::int64_t i = 0; i < place.sizes[at]; ++i) {
    const Addr part = start + static_cast<std::uint64_t>(i * place.strides[at]);
    const std::string item = dimension(reader, place, at + 1, part);
    if (item.empty()) {
      return {};
    }
    text += (i == 0 ? "" : ", ") + item;
  }
  return text + "]";
}

}  // namespace

std::string element_text(RemoteReader& reader, Addr at, std::string_view type) {
  for (const Element& element : kElements) {
    if (element.type == type) {
      return element.print(reader, at);
    }
  }
  return {};
}

std::string array_values(RemoteReader& reader, const ArrayPlace& place, std::size_t limit) {
  std::uint64_t count = 1;
  for (const std::int64_t size : place.sizes) {
    if (size <= 0 || static_cast<std::uint64_t>(size) > limit) {
      return {};
    }
    count *= static_cast<std::uint64_t>(size);
    if (count > limit) {
      return {};
    }
  }
  constexpr std::int64_t kMaxStride = std::int64_t{1} << 40;
  for (const std::int64_t stride : place.strides) {
    if (stride > kMaxStride || stride < -kMaxStride) {
      return {};
    }
  }
  const bool known = place.data != Addr{} && place.strides.size() == place.sizes.size();
  return known && count <= limit ? dimension(reader, place, 0, place.data) : "";
}

}  // namespace oddrank::cpython
