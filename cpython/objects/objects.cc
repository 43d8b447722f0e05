#include "cpython/objects/objects.h"

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <string_view>

#include "base/ascii.h"
#include "base/hex.h"
#include "cpython/objects/arrays.h"
#include "cpython/objects/attributes.h"
#include "cpython/objects/strings.h"
#include "cpython/objects/types.h"
#include "cpython/telling_types.h"

namespace oddrank::cpython {
namespace {

constexpr std::size_t kMaxTextLength = 80;
constexpr std::size_t kMaxShownItems = 4;
constexpr int kMaxDepth = 2;
constexpr unsigned kDigitBits = 30;

// An int is a sign and digits of 30 bits, the lowest first.
struct IntShape {
  std::uint64_t digits = 0;
  bool negative = false;
};
constexpr std::uint64_t kPlainDigits = 2;  // 60 bits

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

class Printer {
 public:
  explicit Printer(PythonMemory& memory) : memory_(memory) {}

  std::string print(Addr object, int depth);

 private:
  static std::string with_address(const std::string& name, Addr object);
  std::string print_instance(Addr object, const std::string& name);
  std::string count_text(Addr field);
  std::string print_float(Addr object);
  std::string print_int(Addr object, const std::string& name);
  std::string print_str(Addr object);
  std::string print_items(Addr object, Addr items, const char* brackets, int depth);

  PythonMemory& memory_;
  bool in_instance_ = false;
  bool in_outer_ = false;
};

std::string Printer::print(Addr object, int depth) {
  const Layout& layout = memory_.layout();
  const std::uint64_t flags = type_flags(memory_, object);
  const std::string name = type_name(memory_, object);
  const auto is = [flags](TypeFlag flag) {
    return (flags & static_cast<std::uint64_t>(flag)) != 0;
  };
  if (name.empty()) {
    return "<unreadable>";
  }
  if (name == "NoneType") {
    return "None";
  }
  if (name == "float") {
    return print_float(object);
  }
  if (is(TypeFlag::kInt)) {
    return print_int(object, name);
  }
  if (is(TypeFlag::kStr)) {
    return print_str(object);
  }
  if (is(TypeFlag::kBytes)) {
    return "<bytes of " + count_text(object + layout.object.size) + ">";
  }
  if (is(TypeFlag::kDict)) {
    const std::string kind = name.substr(name.rfind('.') + 1);
    return "<" + kind + " of " + count_text(object + layout.object.dict_used) + ">";
  }
  if (name == "tuple") {
    return print_items(object, object + layout.object.tuple_items, "()", depth);
  }
  if (name == "list") {
    const Addr items = memory_.pointer_or_null(object + layout.object.list_items);
    return print_items(object, items, "[]", depth);
  }
  if (const auto array = print_array(memory_, object)) {
    return *array;
  }
  // The names of static types include the module, others do not: "<OrderedDict>" in both cases.
  return print_instance(object, name.substr(name.rfind('.') + 1));
}

std::string Printer::with_address(const std::string& name, Addr object) {
  return "<" + name + " at 0x" + hex_number(value_of(object)) + ">";
}

std::string Printer::print_instance(Addr object, const std::string& name) {
  const TellingType* type = find_telling_type(name);
  if (type != nullptr && type->identity) {
    return with_address(name, object);
  }
  if (in_instance_) {
    return name == "function" ? with_address(name, object) : "<" + name + ">";
  }
  std::string text = "<" + name;
  if (type != nullptr) {
    // Attributes of nested instances are not read: nesting ends here, or with those of an outer
    // one.
    const bool was_in_outer = in_outer_;
    in_instance_ = !type->outer || was_in_outer;
    in_outer_ = true;
    const auto attributes = read_attributes(memory_, object);
    for (const std::string_view attribute : type->attributes) {
      const Addr value = find_key(memory_, attributes, attribute);
      if (!attribute.empty() && value != Addr{}) {
        text += " " + std::string(attribute) + "=" + print(value, 0);
      }
    }
    in_outer_ = was_in_outer;
    in_instance_ = false;
  }
  return text + ">";
}

std::string Printer::count_text(Addr field) {
  const auto count = memory_.value<std::int64_t>(field);
  return count && *count >= 0 ? std::to_string(*count) : "?";
}

std::string Printer::print_float(Addr object) {
  const auto value = memory_.value<double>(object + memory_.layout().object.float_value);
  if (!value) {
    return "<unreadable>";
  }
  // Like repr(): no exponent between 1e-4 and 1e16.
  const double size = std::fabs(*value);
  const bool fixed = size == 0 || (size >= 1e-4 && size < 1e16);
  std::array<char, 40> text{};
  const auto written =
      std::to_chars(text.data(), text.data() + text.size(), *value,
                    fixed ? std::chars_format::fixed : std::chars_format::scientific);
  if (written.ec != std::errc{}) {
    return "<float>";
  }
  std::string result(text.data(), written.ptr);
  const bool looks_like_int = result.find_first_not_of("-0123456789") == std::string::npos;
  return std::isfinite(*value) && looks_like_int ? result + ".0" : result;
}

std::string Printer::print_int(Addr object, const std::string& name) {
  const auto shape = int_shape(memory_, object);
  if (!shape) {
    return "<unreadable>";
  }
  if (shape->digits > kPlainDigits) {
    const std::uint64_t rest = (shape->digits - 1) * kDigitBits;
    const std::uint64_t top = digit_at(memory_, object, shape->digits - 1);
    return "<int of " + std::to_string(rest + std::bit_width(top)) + " bits>";
  }
  const std::int64_t value = plain_value(memory_, object, *shape);
  if (name == "bool") {
    return value != 0 ? "True" : "False";
  }
  const std::string text = std::to_string(value);
  return name == "int" ? text : name.substr(name.rfind('.') + 1) + "(" + text + ")";
}

std::string Printer::print_str(Addr object) {
  const auto text = read_string(memory_, object, kMaxTextLength);
  if (!text) {
    return "<unreadable>";
  }
  std::string result = "'";
  for (const char c : text->utf8) {
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
  return result + (text->cut ? "'..." : "'");
}

std::string Printer::print_items(Addr object, Addr items, const char* brackets, int depth) {
  const auto count = memory_.value<std::int64_t>(object + memory_.layout().object.size);
  if (!count || *count < 0) {
    return "<unreadable>";
  }
  const auto size = static_cast<std::uint64_t>(*count);
  std::string text(1, brackets[0]);
  if (depth >= kMaxDepth && size > 0) {
    return text + "..." + brackets[1];
  }
  for (std::uint64_t i = 0; i < size && i < kMaxShownItems; ++i) {
    const Addr item = memory_.pointer_or_null(items + i * sizeof(std::uint64_t));
    text += (i == 0 ? "" : ", ") + print(item, depth + 1);
  }
  if (size > kMaxShownItems) {
    text += ", ... " + std::to_string(size) + " items";
  } else if (size == 1 && brackets[0] == '(') {
    text += ",";
  }
  return text + brackets[1];
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

bool is_plain(PythonMemory& memory, Addr object) {
  const std::uint64_t flags = type_flags(memory, object);
  if ((flags & (static_cast<std::uint64_t>(TypeFlag::kInt) |
                static_cast<std::uint64_t>(TypeFlag::kStr))) != 0) {
    return true;
  }
  const std::string name = type_name(memory, object);
  return name == "float" || name == "NoneType";
}

bool is_telling(PythonMemory& memory, Addr object) {
  const Layout& layout = memory.layout();
  const std::string name = type_name(memory, object);
  if (find_telling_type(std::string_view(name).substr(name.rfind('.') + 1)) != nullptr) {
    return true;
  }
  // [P2POp, ...], the argument of batch_isend_irecv: all items are of one type, so check the first.
  const bool is_list = name == "list";
  if (!is_list && name != "tuple") {
    return false;
  }
  const auto count = memory.value<std::int64_t>(object + layout.object.size);
  const Addr items = is_list ? memory.pointer_or_null(object + layout.object.list_items)
                             : object + layout.object.tuple_items;
  if (!count || *count < 1 || items == Addr{}) {
    return false;
  }
  const std::string item = type_name(memory, memory.pointer_or_null(items));
  return find_telling_type(std::string_view(item).substr(item.rfind('.') + 1)) != nullptr;
}

std::string print_object(PythonMemory& memory, Addr object) {
  return Printer(memory).print(object, 0);
}

}  // namespace oddrank::cpython
