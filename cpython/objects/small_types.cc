// Where the fields lie, all after the header:
// - range, slice: start, stop, step (Objects/rangeobject.c, Objects/sliceobject.c).
// - method: im_func (Include/cpython/classobject.h).
// - torch.dtype: the number, one byte, then the name, 64 bytes (torch/csrc/Dtype.h).
// - torch.device: kind and index, a byte each (torch/csrc/Device.h, c10/core/Device.h).
#include "cpython/objects/small_types.h"

#include <array>

#include "cpython/objects/arrays.h"
#include "cpython/objects/attributes.h"
#include "cpython/objects/dicts.h"
#include "cpython/objects/objects.h"
#include "cpython/objects/scalars.h"
#include "cpython/objects/strings.h"
#include "cpython/objects/types.h"

namespace oddrank::cpython {
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
