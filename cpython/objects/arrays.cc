// Where the fields lie:
// - numpy: PyArrayObject_fields and PyArray_Descr (numpy/ndarraytypes.h) begin alike in 1 and 2.
// - PyTorch: THPVariable (python_variable.h) holds a pointer to the TensorImpl; earlier 2.x have a
//   MaybeOwned<Tensor>, with a bool before the pointer. The TensorImpl (c10/core/TensorImpl.h)
//   holds in this order: SizesAndStrides (a count, then five sizes and five strides, or pointers to
//   them), the storage's offset, the number of elements, the type and the device. The fields before
//   them have changed (56 bytes in 2.13), so several offsets are tried: at the right one the
//   product of the sizes is the number of elements, and type and device are valid.
#include "cpython/objects/arrays.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "cpython/objects/array_values.h"
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
constexpr std::int64_t kAnySize = std::numeric_limits<std::int64_t>::min();

// Returns as many numbers; nullopt if one is below `least`.
std::optional<Sizes> read_sizes(RemoteReader& reader,
                                Addr at,
                                std::uint64_t count,
                                std::int64_t least = 0) {
  Sizes sizes;
  if (count > kMaxDimensions) {
    return std::nullopt;
  }
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto size = reader.value<std::int64_t>(at + i * kPointerSize);
    if (!size || *size < least) {
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

std::optional<std::string> numpy_array(PythonMemory& memory, Addr object, std::size_t limit) {
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
  // PyTypeObject* typeobj, char kind, char type, char byteorder
  const Addr description = memory.pointer_or_null(fields + 5 * kPointerSize);
  const Addr codes = after_header(layout, description) + kPointerSize;
  const auto code = memory.value<std::array<char, 3>>(codes).value_or(std::array<char, 3>{});
  const std::string_view type = numpy_type(code[1]);
  const std::string text = with_type(shape_text(*sizes), type);
  const Addr strides_at = memory.pointer_or_null(fields + 3 * kPointerSize);
  const auto strides = read_sizes(memory, strides_at, sizes->size(), kAnySize);
  if (limit == 0 || code[2] == '>' || !strides) {
    return text;
  }
  return with_type(
      text, array_values(memory, {memory.pointer_or_null(fields), *sizes, *strides, type}, limit));
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

// Returns the bytes of an element whose value can be shown; 0 for others.
std::int64_t torch_width(std::string_view type) {
  if (type == "bool" || type.ends_with("int8")) {
    return type.starts_with('q') ? 0 : 1;
  }
  if (type == "int16" || type == "uint16" || type == "float16" || type == "bfloat16") {
    return 2;
  }
  if (type == "int32" || type == "float32") {
    return 4;
  }
  return type == "int64" || type == "float64" ? 8 : 0;
}

// c10::DeviceType (c10/core/DeviceType.h).
constexpr std::array<std::string_view, 15> kTorchDevices = {
    "cpu",  "cuda", "mkldnn", "opengl", "opencl", "ideep", "hip", "fpga",
    "maia", "xla",  "vulkan", "metal",  "xpu",    "mps",   "meta"};
constexpr std::uint8_t kMaxTorchDevices = 32;

bool multiply_to(const Sizes& sizes, std::int64_t count) {
  std::int64_t product = 1;
  for (const std::int64_t size : sizes) {
    if (__builtin_mul_overflow(product, size, &product)) {
      return false;
    }
  }
  return product == count;
}

// Returns the elements of a tensor in the CPU's memory; "" if they are not found for certain.
// TensorImpl and StorageImpl begin with a vtable and counts of references: 24 bytes, or 16 since
// 2.10 (c10/util/intrusive_ptr.h). The TensorImpl's storage follows; a StorageImpl has its DataPtr
// (data, context, deleter, device), and the number of its bytes (c10/core/StorageImpl.h).
std::string tensor_values(
    RemoteReader& reader, Addr impl, std::int64_t offset, ArrayPlace place, std::size_t limit) {
  constexpr std::int64_t kMaxStorage = std::int64_t{1} << 40;
  const std::int64_t width = torch_width(place.type);
  for (const std::size_t head : {16U, 24U}) {
    const Addr storage = reader.pointer_or_null(impl + head);
    const Addr data = reader.pointer_or_null(storage + head);
    const auto device = reader.value<std::uint8_t>(storage + head + 3 * kPointerSize);
    const auto bytes = reader.value<std::int64_t>(storage + head + 4 * kPointerSize);
    if (width == 0 || data == Addr{} || device != 0 || !bytes || *bytes > kMaxStorage) {
      continue;
    }
    std::int64_t last = offset;
    for (std::size_t i = 0; i < place.sizes.size(); ++i) {
      last += (place.sizes[i] - 1) * place.strides[i];
    }
    if (offset < 0 || last < offset || last >= *bytes / width) {
      continue;
    }
    place.data = data + static_cast<std::uint64_t>(offset * width);
    for (std::int64_t& stride : place.strides) {
      stride *= width;
    }
    return array_values(reader, place, limit);
  }
  return {};
}

std::optional<std::string> tensor_at(RemoteReader& reader,
                                     Addr impl,
                                     std::size_t place,
                                     std::size_t limit) {
  const Addr sizes_and_strides = impl + place;
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
  const std::string text = with_type(shape_text(*sizes), name) + " " +
                           device_text((*device)[0], static_cast<std::int8_t>((*device)[1]));
  const auto few = static_cast<std::int64_t>(limit);
  if (*elements == 0 || *elements > few || (*device)[0] != 0) {
    return text;
  }
  // The strides follow the sizes; inside there is always room for five of each.
  const Addr strides_at = at + (at == inside ? kMaxInlineSizes : *count) * kPointerSize;
  const auto strides = read_sizes(reader, strides_at, *count);
  const auto offset = reader.value<std::int64_t>(sizes_and_strides + kNumber - kPointerSize);
  constexpr std::int64_t kMaxTorchStride = std::int64_t{1} << 32;
  if (!strides || !offset || *offset > kMaxTorchStride ||
      std::any_of(strides->begin(), strides->end(),
                  [](std::int64_t stride) { return stride > kMaxTorchStride; })) {
    return text;
  }
  return with_type(text, tensor_values(reader, impl, *offset, {{}, *sizes, *strides, name}, limit));
}

std::optional<std::string> tensor(PythonMemory& memory, Addr object, std::size_t limit) {
  for (const std::size_t place : {std::size_t{0}, kPointerSize}) {
    const Addr impl = memory.pointer_or_null(after_header(memory.layout(), object) + place);
    for (const std::size_t offset : {56U, 64U, 72U, 48U}) {
      if (auto text = impl == Addr{} ? std::nullopt : tensor_at(memory, impl, offset, limit)) {
        return text;
      }
    }
  }
  return std::nullopt;
}

// Prints a numpy scalar, which holds its value right after the header.
std::optional<std::string> numpy_scalar(PythonMemory& memory, Addr object, std::string_view kind) {
  std::string_view type = kind;
  if (kind == "longlong" || kind == "intc") {
    type = kind == "intc" ? "int32" : "int64";
  } else if (kind == "ulonglong" || kind == "uintc") {
    type = kind == "uintc" ? "uint32" : "uint64";
  } else if (kind == "bool_") {
    type = "bool";
  }
  const std::string value = element_text(memory, after_header(memory.layout(), object), type);
  if (value.empty()) {
    return std::nullopt;
  }
  return type == "bool" ? value : std::string(kind) + "(" + value + ")";
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

std::string device_text(std::uint8_t kind, std::int8_t index) {
  std::string text = kind < kTorchDevices.size() ? std::string(kTorchDevices[kind])
                                                 : "device " + std::to_string(kind);
  const bool numbered = index >= 0 && text != "cpu" && text != "meta";
  return numbered ? text + ":" + std::to_string(index) : text;
}

std::optional<std::string> print_array(PythonMemory& memory,
                                       Addr object,
                                       std::size_t max_elements) {
  const auto names = type_names(memory, object);
  for (const std::string& name : names) {
    std::optional<std::string> text;
    if (name == "numpy.ndarray") {
      text = numpy_array(memory, object, max_elements);
    } else if (name == "torch._C.TensorBase" || name == "torch._C._TensorBase") {
      text = tensor(memory, object, max_elements);
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
