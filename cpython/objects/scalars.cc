#include "cpython/objects/scalars.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <vector>

#include "base/ascii.h"
#include "base/hex.h"
#include "cpython/objects/arrays.h"
#include "cpython/objects/attributes.h"
#include "cpython/objects/dicts.h"
#include "cpython/objects/objects.h"
#include "cpython/objects/strings.h"
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

namespace {

std::string complex_text(PythonMemory& memory, Addr fields) {
  const auto parts = memory.value<std::array<double, 2>>(fields);
  if (!parts) {
    return {};
  }
  // repr() leaves out ".0" in both parts.
  const auto part = [](double number) {
    std::string text = float_text(number);
    return text.ends_with(".0") ? text.substr(0, text.size() - 2) : text;
  };
  const std::string imaginary = part((*parts)[1]);
  return "(" + part((*parts)[0]) + (imaginary.starts_with('-') ? "" : "+") + imaginary + "j)";
}

std::string three(PythonMemory& memory, Addr fields, std::string_view name) {
  std::string text = std::string(name) + "(";
  for (std::size_t i = 0; i < 3; ++i) {
    const std::string part =
        print_object(memory, memory.pointer_or_null(fields + i * kPointerSize));
    if (name == "range" && i == 2 && part == "1") {
      break;
    }
    text += (i == 0 ? "" : ", ") + part;
  }
  return text + ")";
}

std::string function_name(PythonMemory& memory, Addr function) {
  const Layout& layout = memory.layout();
  if (type_name(memory, function) != "function") {
    return {};
  }
  const Addr code = memory.pointer_or_null(function + layout.object.function_code);
  const std::uint32_t at =
      layout.code.qualname == kAbsent ? layout.code.name : layout.code.qualname;
  const auto name = read_string(memory, memory.pointer_or_null(code + at), kMaxNameLength);
  return name ? name->utf8 : "";
}

std::string module_name(PythonMemory& memory, Addr module) {
  constexpr std::size_t kFirst = 8;  // __name__ is the first name of a module
  const Addr dict = memory.pointer_or_null(module + memory.layout().object.module_dict);
  const auto items = read_dict(memory, dict, kFirst);
  const auto name = read_string(memory, find_key(memory, items, "__name__"), kMaxNameLength);
  return name ? name->utf8 : "";
}

std::string torch_type(PythonMemory& memory, Addr fields) {
  const auto name = memory.value<std::array<char, 24>>(fields + 1);
  if (!name || (*name)[0] < 'a' || (*name)[0] > 'z') {
    return {};
  }
  std::string text = "torch.";
  for (const char c : *name) {
    const bool known = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
    if (!known) {
      break;
    }
    text += c;
  }
  return text;
}

std::string in_brackets(std::string_view kind, const std::string& name) {
  return "<" + std::string(kind) + (name.empty() ? "" : " ") + name + ">";
}

}  // namespace

std::string print_small(PythonMemory& memory,
                        Addr object,
                        std::uint64_t flags,
                        std::string_view type) {
  const Addr fields = object + memory.layout().object.head;
  if (type == "NoneType") {
    return "None";
  }
  if (type == "ellipsis") {
    return "Ellipsis";
  }
  if (type == "complex") {
    return complex_text(memory, fields);
  }
  if (type == "range" || type == "slice") {
    return three(memory, fields, type);
  }
  if (type == "function") {
    return in_brackets("function", function_name(memory, object));
  }
  if (type == "method") {
    return in_brackets("method", function_name(memory, memory.pointer_or_null(fields)));
  }
  if (type == "module") {
    return in_brackets("module", module_name(memory, object));
  }
  if (type == "torch.dtype") {
    return torch_type(memory, fields);
  }
  if (type == "torch.device") {
    const auto device = memory.value<std::array<std::uint8_t, 2>>(fields);
    return device ? "device('" + device_text((*device)[0], static_cast<std::int8_t>((*device)[1])) +
                        "')"
                  : "";
  }
  if ((flags & static_cast<std::uint64_t>(TypeFlag::kType)) != 0) {
    return in_brackets("class", name_of_type(memory, object));
  }
  return {};
}

}  // namespace oddrank::cpython
