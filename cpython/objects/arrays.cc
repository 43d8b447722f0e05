// Where the fields lie:
// - numpy: PyArrayObject_fields and PyArray_Descr (numpy/ndarraytypes.h) begin alike in 1 and 2.
// - PyTorch: THPVariable (python_variable.h) holds a pointer to the TensorImpl, in earlier 2.x as a
//   MaybeOwned<Tensor> with a bool in front of it. In the TensorImpl (c10/core/TensorImpl.h)
//   SizesAndStrides (a count, then five sizes and five strides, or pointers to them), the storage's
//   offset, the number of elements, the type and the device follow each other. What lies in front
//   of them has changed (56 bytes in 2.13), so the place is searched for: it is the right one if
//   the sizes multiply to the number of elements and type and device exist.
#include "cpython/objects/arrays.h"

#include <array>
#include <charconv>
#include <cstdint>
#include <string_view>
#include <vector>

#include "cpython/objects/types.h"

namespace oddrank::cpython {
namespace {

constexpr std::size_t kWord = sizeof(std::uint64_t);
constexpr std::uint64_t kMostDimensions = 64;  // numpy's limit, and more than PyTorch's tests use
constexpr std::size_t kShownDimensions = 8;

// What a PyObject begins with is followed by the fields of its kind.
Addr behind_header(const Layout& layout, Addr object) {
  return object + layout.object.type + kWord;
}

using Sizes = std::vector<std::int64_t>;

std::optional<Sizes> read_sizes(RemoteReader& reader, Addr at, std::uint64_t count) {
  Sizes sizes;
  if (count > kMostDimensions) {
    return std::nullopt;
  }
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto size = reader.value<std::int64_t>(at + i * kWord);
    if (!size || *size < 0) {
      return std::nullopt;
    }
    sizes.push_back(*size);
  }
  return sizes;
}

// As Python prints a tuple.
std::string shape_text(const Sizes& sizes) {
  std::string text = "(";
  for (std::size_t i = 0; i < sizes.size() && i < kShownDimensions; ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(sizes[i]);
  }
  if (sizes.size() > kShownDimensions) {
    return text + ", ...)";
  }
  return text + (sizes.size() == 1 ? ",)" : ")");
}

// NPY_TYPES by PyArray_Descr::type, its character code.
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

std::optional<std::string> numpy_array(RemoteReader& reader, const Layout& layout, Addr object) {
  // char* data, int nd, npy_intp* dimensions, npy_intp* strides, PyObject* base, descr
  const Addr fields = behind_header(layout, object);
  const auto count = reader.value<std::int32_t>(fields + kWord);
  if (!count || *count < 0) {
    return std::nullopt;
  }
  const Addr dimensions = reader.pointer_or_null(fields + 2 * kWord);
  const auto sizes = read_sizes(reader, dimensions, static_cast<std::uint64_t>(*count));
  if (!sizes) {
    return std::nullopt;
  }
  // PyTypeObject* typeobj, char kind, char type
  const Addr description = reader.pointer_or_null(fields + 5 * kWord);
  const auto code = reader.value<char>(behind_header(layout, description) + kWord + 1);
  return with_type(shape_text(*sizes), numpy_type(code.value_or('\0')));
}

// c10::ScalarType (c10/core/ScalarType.h); "" = one that is no number of a usual kind.
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
constexpr std::uint16_t kTorchTypeLimit = 64;

// c10::DeviceType (c10/core/DeviceType.h).
constexpr std::array<std::string_view, 15> kTorchDevices = {
    "cpu",  "cuda", "mkldnn", "opengl", "opencl", "ideep", "hip", "fpga",
    "maia", "xla",  "vulkan", "metal",  "xpu",    "mps",   "meta"};
constexpr std::uint8_t kTorchDeviceLimit = 32;

// "cpu", "cuda:0"; an index of -1 is "the current one".
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
  constexpr std::uint64_t kInline = 5;
  constexpr std::size_t kNumber = (1 + 2 * kInline + 1) * kWord;  // behind the storage's offset
  const auto count = reader.value<std::uint64_t>(sizes_and_strides);
  const Addr inside = sizes_and_strides + kWord;
  if (!count) {
    return std::nullopt;
  }
  const Addr at = *count <= kInline ? inside : reader.pointer_or_null(inside);
  const auto sizes = read_sizes(reader, at, *count);
  const auto elements = reader.value<std::int64_t>(sizes_and_strides + kNumber);
  if (!sizes || !elements || !multiply_to(*sizes, *elements)) {
    return std::nullopt;
  }
  // TypeMeta is a number of 16 bits; std::optional<Device> is kind, index, and whether it is there.
  const Addr type_at = sizes_and_strides + kNumber + kWord;
  const auto type = reader.value<std::uint16_t>(type_at);
  const auto device = reader.value<std::array<std::uint8_t, 3>>(type_at + sizeof(std::uint16_t));
  if (!type || *type >= kTorchTypeLimit || !device || (*device)[2] != 1 ||
      (*device)[0] >= kTorchDeviceLimit) {
    return std::nullopt;
  }
  const std::string_view name = *type < kTorchTypes.size() ? kTorchTypes[*type] : "";
  return with_type(shape_text(*sizes), name) + " " +
         device_text((*device)[0], static_cast<std::int8_t>((*device)[1]));
}

std::optional<std::string> tensor(RemoteReader& reader, const Layout& layout, Addr object) {
  for (const std::size_t place : {std::size_t{0}, kWord}) {
    const Addr impl = reader.pointer_or_null(behind_header(layout, object) + place);
    for (const std::size_t offset : {56U, 64U, 72U, 48U}) {
      if (auto text = impl == Addr{} ? std::nullopt : tensor_at(reader, impl + offset)) {
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

// numpy's scalars hold their value right behind the header.
std::optional<std::string> numpy_scalar(RemoteReader& reader,
                                        const Layout& layout,
                                        Addr object,
                                        std::string_view kind) {
  const Addr at = behind_header(layout, object);
  std::optional<std::string> value;
  if (kind == "int64" || kind == "longlong") {
    const auto number = reader.value<std::int64_t>(at);
    value = number ? std::optional(std::to_string(*number)) : std::nullopt;
  } else if (kind == "int32" || kind == "intc") {
    const auto number = reader.value<std::int32_t>(at);
    value = number ? std::optional(std::to_string(*number)) : std::nullopt;
  } else if (kind == "float64") {
    const auto number = reader.value<double>(at);
    value = number ? std::optional(text_of(*number)) : std::nullopt;
  } else if (kind == "float32") {
    const auto number = reader.value<float>(at);
    value = number ? std::optional(text_of(static_cast<double>(*number))) : std::nullopt;
  }
  return value ? std::optional(std::string(kind) + "(" + *value + ")") : std::nullopt;
}

// Names of the object's type and of the first few types that it derives from.
std::vector<std::string> type_names(RemoteReader& reader, const Layout& layout, Addr object) {
  constexpr std::size_t kDepth = 6;
  // tp_base stands 11 words behind tp_flags in all versions (Include/cpython/object.h).
  const std::size_t base = layout.object.type_flags + 11 * kWord;
  std::vector<std::string> names;
  for (Addr type = type_of(reader, layout, object); type != Addr{} && names.size() < kDepth;
       type = reader.pointer_or_null(type + base)) {
    names.push_back(name_of_type(reader, layout, type));
  }
  return names;
}

}  // namespace

std::optional<std::string> print_array(RemoteReader& reader, const Layout& layout, Addr object) {
  const auto names = type_names(reader, layout, object);
  for (const std::string& name : names) {
    std::optional<std::string> text;
    if (name == "numpy.ndarray") {
      text = numpy_array(reader, layout, object);
    } else if (name == "torch._C.TensorBase" || name == "torch._C._TensorBase") {
      text = tensor(reader, layout, object);
    } else if (name.starts_with("numpy.")) {
      return numpy_scalar(reader, layout, object, std::string_view(name).substr(6));
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
