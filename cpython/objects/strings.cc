#include "cpython/objects/strings.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/ascii.h"
#include "base/hex.h"
#include "cpython/objects/types.h"

namespace oddrank::cpython {
namespace {

struct StringData {
  Addr address{};
  std::uint64_t length = 0;  // characters
  std::size_t unit = 0;      // bytes a character: 1, 2, 4
};

std::optional<StringData> locate_text(PythonMemory& memory, Addr object) {
  const Layout& layout = memory.layout();
  const ObjectOffsets& offsets = layout.object;
  const auto length = memory.value<std::int64_t>(object + offsets.str_length);
  const auto state = memory.value<std::uint32_t>(object + offsets.str_state);
  if (!length || !state || *length < 0) {
    return std::nullopt;
  }
  const std::uint32_t bits = *state >> layout.object.str_kind_shift;
  const std::uint32_t kind = bits & 7;
  const bool compact = (bits & 8) != 0;
  const bool ascii = (bits & 16) != 0;
  if (kind != 1 && kind != 2 && kind != 4) {
    return std::nullopt;  // 0: a string of the old API without PyUnicode_READY
  }
  StringData data;
  data.length = static_cast<std::uint64_t>(*length);
  data.unit = kind;
  if (!compact) {
    data.address = memory.pointer_or_null(object + offsets.str_compact_data);
  } else {
    data.address = object + (ascii ? offsets.str_ascii_data : offsets.str_compact_data);
  }
  return data;
}

char32_t unit_at(std::span<const std::byte> bytes, std::size_t index, std::size_t unit) {
  if (unit == 1) {
    return std::to_integer<char32_t>(bytes[index]);
  }
  if (unit == 2) {
    std::uint16_t value = 0;
    std::memcpy(&value, bytes.data() + index * 2, 2);
    return value;
  }
  std::uint32_t value = 0;
  std::memcpy(&value, bytes.data() + index * 4, 4);
  return value;
}

}  // namespace

void append_utf8(std::string& text, char32_t code_point) {
  const auto tail = [&](unsigned shift) {
    text += static_cast<char>(0x80 | (code_point >> shift & 0x3f));
  };
  if (code_point > 0x10ffff || (code_point >= 0xd800 && code_point <= 0xdfff)) {
    code_point = 0xfffd;
  }
  if (code_point < 0x80) {
    text += static_cast<char>(code_point);
  } else if (code_point < 0x800) {
    text += static_cast<char>(0xc0 | code_point >> 6);
    tail(0);
  } else if (code_point < 0x10000) {
    text += static_cast<char>(0xe0 | code_point >> 12);
    tail(6);
    tail(0);
  } else {
    text += static_cast<char>(0xf0 | code_point >> 18);
    tail(12);
    tail(6);
    tail(0);
  }
}

std::optional<PythonString> read_string(PythonMemory& memory, Addr object, std::size_t limit) {
  if (!is_instance(memory, object, TypeFlag::kStr)) {
    return std::nullopt;
  }
  const auto data = locate_text(memory, object);
  if (!data) {
    return std::nullopt;
  }
  const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(data->length, limit));
  const auto bytes = memory.bytes(data->address, count * data->unit);
  if (!bytes) {
    return std::nullopt;
  }
  PythonString result;
  result.cut = data->length > count;
  result.utf8.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    append_utf8(result.utf8, unit_at(*bytes, i, data->unit));
  }
  return result;
}

PythonMemory::Range string_range(PythonMemory& memory, Addr object) {
  const auto data = locate_text(memory, object);
  if (!data) {
    return {};
  }
  const auto count =
      static_cast<std::size_t>(std::min<std::uint64_t>(data->length, kMaxStringLength));
  return {data->address, count * data->unit};
}

std::optional<std::vector<std::byte>> read_bytes(PythonMemory& memory, Addr object) {
  const Layout& layout = memory.layout();
  if (!is_instance(memory, object, TypeFlag::kBytes)) {
    return std::nullopt;
  }
  const auto size = memory.value<std::uint64_t>(object + layout.object.size);
  if (!size || *size > kMaxBytes) {
    return std::nullopt;
  }
  return memory.bytes(object + layout.object.bytes_data, static_cast<std::size_t>(*size));
}

std::optional<PythonString> escaped_bytes(PythonMemory& memory,
                                          Addr object,
                                          bool is_bytearray,
                                          std::size_t limit) {
  const Layout& layout = memory.layout();
  const auto size = memory.value<std::uint64_t>(object + layout.object.size);
  // PyByteArrayObject: the size, ob_alloc, ob_bytes, ob_start.
  const Addr start = is_bytearray
                         ? memory.pointer_or_null(object + layout.object.size + 3 * kPointerSize)
                         : object + layout.object.bytes_data;
  if (!size) {
    return std::nullopt;
  }
  const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(*size, limit));
  const auto bytes = memory.bytes(start, count);
  if (!bytes) {
    return std::nullopt;
  }
  PythonString result;
  result.cut = *size > count;
  for (const std::byte byte : *bytes) {
    const auto c = static_cast<char>(byte);
    if (c == '\'' || c == '\\') {
      result.utf8 += '\\';
      result.utf8 += c;
    } else if (is_printable_ascii(c)) {
      result.utf8 += c;
    } else {
      result.utf8 += "\\x" + hex_bytes(std::array{byte});
    }
  }
  return result;
}

}  // namespace oddrank::cpython
