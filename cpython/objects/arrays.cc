// Where the fields lie:
// - numpy: PyArrayObject_fields and PyArray_Descr (numpy/ndarraytypes.h) begin alike in 1 and 2.
// - PyTorch: THPVariable (python_variable.h) holds a pointer to the TensorImpl; earlier 2.x have a
//   MaybeOwned<Tensor>, with a bool before the pointer. The TensorImpl (c10/core/TensorImpl.h)
//   holds in this order: SizesAndStrides (a count, then five sizes and five strides, or pointers to
//   them), the storage's offset, the number of elements, the type and the device. The fields before
//   them have changed (56 bytes in 2.13), so several offsets are tried: at the right one the
//   product of the sizes is the number of elements, and type and device are valid.
#include "cpython/objects/arrays.h"

#include <array>
#include <charconv>
#include <cstdint>
#include <string_view>
#include <vector>

#include "cpython/objects/types.h"

namespace oddrank::cpython {
namespace {

constexpr std::uint64_t kMaxDimensions = 64;  // numpy's limit, and more than PyTorch's tests use
constexpr std::size_t kMaxShownDimensions = 8;

// Returns where the fields of an object's own type begin: after those that all objects have.
Addr after_header(const Layout& layout, Addr object) {
  return object + layout.object.type + kPointerSize;
}

using Sizes = std::vector<std::int64_t>;

std::optional<Sizes> read_sizes(RemoteReader& reader, Addr at, std::uint64_t count) {
  Sizes sizes;
  if (count > kMaxDimensions) {
    return std::nullopt;
  }
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto size = reader.value<std::int64_t>(at + i * kPointerSize);
    if (!size || *size < 0) {
      return std::nullopt;
    }
    sizes.push_back(*size);
  }
  return sizes;
}

// Prints sizes as Python prints a tuple.
std::string shape_text(const Sizes& sizes) {
  std::string text = "(";
  for (std::size_t i = 0; i < sizes.size() && i < kMaxShownDimensions; ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(sizes[i]);
  }
  if (sizes.size() > kMaxShownDimensions) {
    return text + ", ...)";
  }
  return text + (sizes.size() == 1 ? ",)" : ")");
}

// Returns the name of a type by its character code (NPY_TYPES, PyArray_Descr::type).
std::string_view numpy_type(char code) {
  struct Row {
    char code;
    std::string_view name;
  };
  constexpr std::array<Row, 21> kTypes = {{
      {'?', "bool"},       {'b', "int8"},    {'B', "uint8"},      {'h', "int16"},
      {'H', "uint16"},     {'i', "int32"},   {'I', "uint32"},     {'l', "int64"},
      {'L', "uint64"},     {'q', "int64"},   {'Q', "uint64"},     {'e', "float16"},
      {'f', "float32"},    {'d', "float64"}, {'g', "longdouble"}, {'F', "complex64"},
      {'D', "complex128"}, {'O', "object"},  {'S', "bytes"},      {'U', "str"},
      {'M', "datetime64"},
  }};
  for (const Row& row : kTypes) {
    if (row.code == code) {
      return row.name;
    }
  }
  return "";
}

std::string with_type(const std::string& text, std::string_view type) {
  return type.empty() ? text : text + " " + std::string(type);
}

std::optional<std::string> numpy_array(PythonMemory& memory, Addr object) {
  const Layout& layout = memory.layout();
  // char* data, int nd, npy_intp* dimensions, npy_intp* strides, PyObject* base, descr
  const Addr fields = after_header(layout, object);
  const auto count = memory.value<std::int32_t>(fields + kPointerSize);
  if (!count || *count < 0) {
    return std::nullopt;
  }
  const Addr dimensions = memory.pointer_or_null(fields + 2 * kPointerSize);
  const auto sizes = read_sizes(memory, dimensions, static_cast<std::uint64_t>(*count));
  if (!sizes) {
    return std::nullopt;
  }
  // PyTypeObject* typeobj, char kind, char type
  const Addr description = memory.pointer_or_null(fields + 5 * kPointerSize);
  const auto code = memory.value<char>(after_header(layout, description) + kPointerSize + 1);
  return with_type(shape_text(*sizes), numpy_type(code.value_or('\0')));
}

// c10::ScalarType (c10/core/ScalarType.h).
constexpr std::array<std::string_view, 28> kTorchTypes = {"uint8",           "int8",
                                                          "int16",           "int32",
                                                          "int64",           "float16",
                                                          "float32",         "float64",
                                                          "complex32",       "complex64",
                                                          "complex128",      "bool",
                                                          "qint8",           "quint8",
                                                          "qint32",          "bfloat16",
                                                          "quint4x2",        "quint2x4",
                                                          "bits1x8",         "bits2x4",
                                                          "bits4x2",         "bits8",
                                                          "bits16",          "float8_e5m2",
                                                          "float8_e4m3fn",   "float8_e5m2fnuz",
                                                          "float8_e4m3fnuz", "uint16"};
constexpr std::uint16_t kMaxTorchTypes = 64;

// c10::DeviceType (c10/core/DeviceType.h).
constexpr std::array<std::string_view, 15> kTorchDevices = {
    "cpu",  "cuda", "mkldnn", "opengl", "opencl", "ideep", "hip", "fpga",
    "maia", "xla",  "vulkan", "metal",  "xpu",    "mps",   "meta"};
constexpr std::uint8_t kMaxTorchDevices = 32;

// Returns "cpu", "cuda:0"; an index of -1 means the current device.
std::string device_text(std::uint8_t kind, std::int8_t index) {
  std::string text = kind < kTorchDevices.size() ? std::string(kTorchDevices[kind])
                                                 : "device " + std::to_string(kind);
  const bool numbered = index >= 0 && text != "cpu" && text != "meta";
  return numbered ? text + ":" + std::to_string(index) : text;
}

bool multiply_to(const Sizes& sizes, std::int64_t count) {
  std::int64_t product = 1;
  for (const std::int64_t size : sizes) {
    if (__builtin_mul_overflow(product, size, &product)) {
      return false;
    }
  }
  return product == count;
}

std::optional<std::string> tensor_at(RemoteReader& reader, Addr sizes_and_strides) {
  constexpr std::uint64_t kMaxInlineSizes = 5;
  constexpr std::size_t kNumber =
      (1 + 2 * kMaxInlineSizes + 1) * kPointerSize;  // after the storage's offset
  const auto count = reader.value<std::uint64_t>(sizes_and_strides);
  const Addr inside = sizes_and_strides + kPointerSize;
  if (!count) {
    return std::nullopt;
  }
  const Addr at = *count <= kMaxInlineSizes ? inside : reader.pointer_or_null(inside);
  const auto sizes = read_sizes(reader, at, *count);
  const auto elements = reader.value<std::int64_t>(sizes_and_strides + kNumber);
  if (!sizes || !elements || !multiply_to(*sizes, *elements)) {
    return std::nullopt;
  }
  // TypeMeta is a number of 16 bits; std::optional<Device> is kind, index, and whether there is a
  // value.
  const Addr type_at = sizes_and_strides + kNumber + kPointerSize;
  const auto type = reader.value<std::uint16_t>(type_at);
  const auto device = reader.value<std::array<std::uint8_t, 3>>(type_at + sizeof(std::uint16_t));
  if (!type || *type >= kMaxTorchTypes || !device || (*device)[2] != 1 ||
      (*device)[0] >= kMaxTorchDevices) {
    return std::nullopt;
  }
  const std::string_view name = *type < kTorchTypes.size() ? kTorchTypes[*type] : "";
  return with_type(shape_text(*sizes), name) + " " +
         device_text((*device)[0], static_cast<std::int8_t>((*device)[1]));
}

std::optional<std::string> tensor(PythonMemory& memory, Addr object) {
  for (const std::size_t place : {std::size_t{0}, kPointerSize}) {
    const Addr impl = memory.pointer_or_null(after_header(memory.layout(), object) + place);
    for (const std::size_t offset : {56U, 64U, 72U, 48U}) {
      if (auto text = impl == Addr{} ? std::nullopt : tensor_at(memory, impl + offset)) {
        return text;
      }
    }
  }
  return std::nullopt;
}

std::string text_of(double value) {
  std::array<char, 40> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value);
  return {text.data(), end.ptr};
}

// Prints a numpy scalar, which holds its value right after the header.
std::optional<std::string> numpy_scalar(PythonMemory& memory, Addr object, std::string_view kind) {
  const Addr at = after_header(memory.layout(), object);
  std::optional<std::string> value;
  if (kind == "int64" || kind == "longlong") {
    const auto number = memory.value<std::int64_t>(at);
    value = number ? std::optional(std::to_string(*number)) : std::nullopt;
  } else if (kind == "int32" || kind == "intc") {
    const auto number = memory.value<std::int32_t>(at);
    value = number ? std::optional(std::to_string(*number)) : std::nullopt;
  } else if (kind == "float64") {
    const auto number = memory.value<double>(at);
    value = number ? std::optional(text_of(*number)) : std::nullopt;
  } else if (kind == "float32") {
    const auto number = memory.value<float>(at);
    value = number ? std::optional(text_of(static_cast<double>(*number))) : std::nullopt;
  }
  return value ? std::optional(std::string(kind) + "(" + *value + ")") : std::nullopt;
}

// Returns the names of the object's type and of the first few types that it derives from.
std::vector<std::string> type_names(PythonMemory& memory, Addr object) {
  constexpr std::size_t kMaxBases = 6;
  // tp_base is 11 words after tp_flags in all versions (Include/cpython/object.h).
  const std::size_t base = memory.layout().object.type_flags + 11 * kPointerSize;
  std::vector<std::string> names;
  for (Addr type = type_of(memory, object); type != Addr{} && names.size() < kMaxBases;
       type = memory.pointer_or_null(type + base)) {
    names.push_back(name_of_type(memory, type));
  }
  return names;
}

}  // namespace

std::optional<std::string> print_array(PythonMemory& memory, Addr object) {
  const auto names = type_names(memory, object);
  for (const std::string& name : names) {
    std::optional<std::string> text;
    if (name == "numpy.ndarray") {
      text = numpy_array(memory, object);
    } else if (name == "torch._C.TensorBase" || name == "torch._C._TensorBase") {
      text = tensor(memory, object);
    } else if (name.starts_with("numpy.")) {
      return numpy_scalar(memory, object, std::string_view(name).substr(6));
    } else {
      continue;
    }
    const std::string& own = names.front();
    return text ? std::optional("<" + own.substr(own.rfind('.') + 1) + " " + *text + ">")
                : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace oddrank::cpython
