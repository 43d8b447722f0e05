#include "cpython/known_call.h"

#include <array>
#include <optional>
#include <string_view>

#include "cpython/locals.h"
#include "cpython/objects/attributes.h"
#include "cpython/objects/strings.h"

namespace oddrank::cpython {
namespace {

struct KnownCaller {
  std::string_view file;      // how its path ends
  std::string_view function;  // without its class
  std::string_view attribute;
};

constexpr KnownCaller kTriton{"/triton/runtime/jit.py", "run", "__name__"};
constexpr std::array kTorch = {
    KnownCaller{"/torch/_ops.py", "__call__", "_qualified_op_name"},  // OpOverloadPacket
    KnownCaller{"/torch/_ops.py", "__call__", "_name"},               // OpOverload
};

bool is_of(const KnownCaller& caller, const CodeObject& code) {
  const std::string_view function = code.function;
  return function.substr(function.rfind('.') + 1) == caller.function &&
         code.file.ends_with(caller.file);
}

std::string name_of_object(PythonMemory& memory, const KnownCaller& caller, const RawFrame& frame) {
  const Addr object = read_local(memory, frame, "self");
  const Addr name = object == Addr{} ? Addr{} : read_attribute(memory, object, caller.attribute);
  const auto text = name == Addr{} ? std::nullopt : read_string(memory, name, kMaxNameLength);
  return text ? text->utf8 : "";
}

}  // namespace

std::string known_call(PythonMemory& memory, const CodeObject& code, const RawFrame& frame) {
  if (is_of(kTriton, code)) {
    const std::string name = name_of_object(memory, kTriton, frame);
    return name.empty() ? "" : name + "[grid]";
  }
  for (const KnownCaller& caller : kTorch) {
    if (is_of(caller, code)) {
      std::string name = name_of_object(memory, caller, frame);  // "mylib::add", "aten::add.Tensor"
      if (const std::size_t colons = name.find("::"); colons != std::string::npos) {
        return "torch.ops." + name.replace(colons, 2, ".");
      }
    }
  }
  return "";
}

}  // namespace oddrank::cpython
