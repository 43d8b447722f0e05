#include "cpython/objects/scalars.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <vector>

#include "base/ascii.h"
#include "base/hex.h"
#include "cpython/objects/types.h"

namespace oddrank::cpython {
namespace {

constexpr unsigned kDigitBits = 30;
constexpr std::uint64_t kPlainDigits = 2;  // 60 bits
constexpr std::uint64_t kMaxBits = 4096;

// An int is a sign and digits of 30 bits, the lowest first.
struct IntShape {
  std::uint64_t digits = 0;
  bool negative = false;
};

std::optional<IntShape> int_shape(PythonMemory& memory, Addr object) {
  const Layout& layout = memory.layout();
  const auto tag = memory.value<std::int64_t>(object + layout.object.int_tag);
  if (!tag) {
    return std::nullopt;
  }
  const auto bits = static_cast<std::uint64_t>(*tag);
  if (layout.semantics.ints == IntFormat::kTag) {
    const std::uint64_t sign = bits & 3;  // 0 positive, 1 zero, 2 negative
    return IntShape{sign == 1 ? 0 : bits >> 3, sign == 2};
  }
  return IntShape{*tag < 0 ? -bits : bits, *tag < 0};
}

std::uint64_t digit_at(PythonMemory& memory, Addr object, std::uint64_t index) {
  const Addr at = object + memory.layout().object.int_digits + index * sizeof(std::uint32_t);
  return memory.value<std::uint32_t>(at).value_or(0) & ((1U << kDigitBits) - 1);
}

std::int64_t plain_value(PythonMemory& memory, Addr object, const IntShape& shape) {
  std::uint64_t value = 0;
  for (std::uint64_t i = 0; i < shape.digits && i < kPlainDigits; ++i) {
    value |= digit_at(memory, object, i) << (i * kDigitBits);
  }
  const auto magnitude = static_cast<std::int64_t>(value);
  return shape.negative ? -magnitude : magnitude;
}

// Returns the decimal digits of a long int, by repeated division.
std::string decimal(PythonMemory& memory, Addr object, const IntShape& shape) {
  constexpr std::uint64_t kChunk = 1000000000;
  constexpr std::size_t kChunkDigits = 9;
  std::vector<std::uint64_t> digits;
  for (std::uint64_t i = 0; i < shape.digits; ++i) {
    digits.push_back(digit_at(memory, object, i));
  }
  std::string text;  // the last digit first
  while (!digits.empty()) {
    std::uint64_t rest = 0;
    for (std::size_t i = digits.size(); i > 0; --i) {
      const std::uint64_t part = rest << kDigitBits | digits[i - 1];
      digits[i - 1] = part / kChunk;
      rest = part % kChunk;
    }
    for (std::size_t i = 0; i < kChunkDigits; ++i) {
      text += static_cast<char>('0' + rest % 10);
      rest /= 10;
    }
    while (!digits.empty() && digits.back() == 0) {
      digits.pop_back();
    }
  }
  text.erase(text.find_last_not_of('0') + 1);
  if (text.empty()) {
    return "0";
  }
  text += shape.negative ? "-" : "";
  std::reverse(text.begin(), text.end());
  return text;
}

template <typename T>
std::string shortest(T value) {
  // Like repr(): no exponent between 1e-4 and 1e16.
  const double size = std::fabs(static_cast<double>(value));
  const bool fixed = size == 0 || (size >= 1e-4 && size < 1e16);
  std::array<char, 40> text{};
  const auto written =
      std::to_chars(text.data(), text.data() + text.size(), value,
                    fixed ? std::chars_format::fixed : std::chars_format::scientific);
  if (written.ec != std::errc{}) {
    return "<float>";
  }
  std::string result(text.data(), written.ptr);
  const bool looks_like_int = result.find_first_not_of("-0123456789") == std::string::npos;
  return std::isfinite(value) && looks_like_int ? result + ".0" : result;
}

}  // namespace

std::optional<std::int64_t> read_int(PythonMemory& memory, Addr object) {
  if (!is_instance(memory, object, TypeFlag::kInt)) {
    return std::nullopt;
  }
  const auto shape = int_shape(memory, object);
  if (!shape || shape->digits > kPlainDigits) {
    return std::nullopt;
  }
  return plain_value(memory, object, *shape);
}

std::string print_int(PythonMemory& memory,
                      Addr object,
                      std::string_view type,
                      std::uint64_t max_bits) {
  const auto shape = int_shape(memory, object);
  if (!shape) {
    return "<unreadable>";
  }
  std::string text;
  if (shape->digits > kPlainDigits) {
    const std::uint64_t rest = (shape->digits - 1) * kDigitBits;
    const std::uint64_t bits =
        rest +
        static_cast<std::uint64_t>(std::bit_width(digit_at(memory, object, shape->digits - 1)));
    if (shape->digits > kMaxBits / kDigitBits || bits > max_bits) {
      return "<int of " + std::to_string(bits) + " bits>";
    }
    text = decimal(memory, object, *shape);
  } else {
    const std::int64_t value = plain_value(memory, object, *shape);
    if (type == "bool") {
      return value != 0 ? "True" : "False";
    }
    text = std::to_string(value);
  }
  return type == "int" ? text : std::string(type.substr(type.rfind('.') + 1)) + "(" + text + ")";
}

std::string float_text(double value) {
  return shortest(value);
}

std::string float_text_32(float value) {
  return shortest(value);
}

std::string quoted(std::string_view utf8, bool cut) {
  std::string result = "'";
  for (const char c : utf8) {
    if (c == '\'' || c == '\\') {
      result += '\\';
      result += c;
    } else if (c == '\n') {
      result += "\\n";
    } else if (is_control(c)) {
      result += "\\x" + hex_bytes(std::array{static_cast<std::byte>(c)});
    } else {
      result += c;
    }
  }
  return result + (cut ? "'..." : "'");
}

}  // namespace oddrank::cpython
