#include "cpython/objects/objects.h"

#include <string_view>

#include "base/hex.h"
#include "cpython/objects/arrays.h"
#include "cpython/objects/attributes.h"
#include "cpython/objects/scalars.h"
#include "cpython/objects/strings.h"
#include "cpython/objects/types.h"
#include "cpython/telling_types.h"

namespace oddrank::cpython {
namespace {

constexpr std::size_t kMaxTextLength = 80;
constexpr std::size_t kMaxShownItems = 4;
constexpr int kMaxDepth = 2;

class Printer {
 public:
  explicit Printer(PythonMemory& memory) : memory_(memory) {}

  std::string print(Addr object, int depth);

 private:
  static std::string with_address(const std::string& name, Addr object);
  std::string print_instance(Addr object, const std::string& name);
  std::string count_text(Addr field);
  std::string print_float(Addr object);
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
    return print_int(memory_, object, name);
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
  if (name == "set" || name == "frozenset") {  // `used` comes before `mask`
    return "<" + name + " of " +
           count_text(object + (layout.object.set_mask - sizeof(std::int64_t))) + ">";
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
    // Attributes of nested instances are not read: nesting ends here, or at instances in an outer
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
  return value ? float_text(*value) : "<unreadable>";
}

std::string Printer::print_str(Addr object) {
  const auto text = read_string(memory_, object, kMaxTextLength);
  return text ? quoted(text->utf8, text->cut) : "<unreadable>";
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
