// Python objects in the memory of a FakeTarget, laid out as a Layout says.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cpython/objects/types.h"
#include "cpython/python_memory.h"
#include "tests/support/fake_target.h"

namespace oddrank::test {

class PythonHeap {
 public:
  using Addr = attach::Addr;

  explicit PythonHeap(const cpython::Layout& layout) : layout_(layout) {
    target_.add_memory(Addr{kStart}, std::string(kSize, '\0'));
  }

  const FakeTarget& target() const { return target_; }
  const cpython::Layout& layout() const { return layout_; }

  Addr allocate(std::size_t size) {
    const Addr address{next_};
    next_ += (size + 15) / 16 * 16;
    return address;
  }
  template <typename T>
  void put(Addr address, T value) {
    target_.add_object(address, value);
  }
  void put_pointer(Addr address, Addr value) { put(address, value_of(value)); }

  Addr type(std::string_view name, std::uint64_t flags = 0) {
    const Addr text = allocate(name.size() + 1);
    target_.add_memory(text, std::string(name) + '\0');
    const Addr type = allocate(layout_.object.type_flags + 8);
    put_pointer(type + layout_.object.type_name, text);
    put(type + layout_.object.type_flags, flags);
    return type;
  }
  Addr type(std::string_view name, cpython::TypeFlag flag) {
    return type(name, static_cast<std::uint64_t>(flag));
  }
  Addr object(Addr type, std::size_t size = 64) {
    const Addr address = allocate(size);
    put_pointer(address + layout_.object.type, type);
    return address;
  }

  // Adds a compact str of one kind: 1, 2 or 4 bytes a character.
  Addr str(std::u32string_view text, unsigned kind) {
    const bool ascii = kind == 1 && text.find_first_of(U"\x80\xe9\xff") == text.npos;
    const std::size_t header =
        ascii ? layout_.object.str_ascii_data : layout_.object.str_compact_data;
    const Addr address = object(str_type(), header + (text.size() + 1) * kind);
    put(address + layout_.object.str_length, static_cast<std::int64_t>(text.size()));
    const unsigned state = 1U | kind << 2 | 1U << 5 | (ascii ? 1U << 6 : 0) | 1U << 7;
    put(address + layout_.object.str_state, state);
    for (std::size_t i = 0; i < text.size(); ++i) {
      put_unit(address + header + i * kind, text[i], kind);
    }
    return address;
  }
  Addr str(std::string_view ascii) { return str(std::u32string(ascii.begin(), ascii.end()), 1); }
  Addr bytes(std::string_view data) {
    if (bytes_type_ == Addr{}) {
      bytes_type_ = type("bytes", cpython::TypeFlag::kBytes);
    }
    const Addr address = object(bytes_type_, layout_.object.bytes_data + data.size() + 1);
    put(address + layout_.object.size, static_cast<std::int64_t>(data.size()));
    target_.add_memory(address + layout_.object.bytes_data, data);
    return address;
  }
  Addr tuple(const std::vector<Addr>& items) {
    const Addr address = object(type("tuple", cpython::TypeFlag::kTuple),
                                layout_.object.tuple_items + items.size() * 8);
    put(address + layout_.object.size, static_cast<std::int64_t>(items.size()));
    for (std::size_t i = 0; i < items.size(); ++i) {
      put_pointer(address + layout_.object.tuple_items + i * 8, items[i]);
    }
    return address;
  }

  Addr str_type() {
    if (str_type_ == Addr{}) {
      str_type_ = type("str", cpython::TypeFlag::kStr);
    }
    return str_type_;
  }

  FakeTarget& target() { return target_; }
  // Returns a memory of which nothing has been read yet; the heap must outlive it.
  cpython::PythonMemory memory() const { return {target_, layout_}; }

 private:
  static constexpr std::uint64_t kStart = 0x10000000;
  static constexpr std::size_t kSize = 1U << 20;

  void put_unit(Addr at, char32_t unit, unsigned kind) {
    if (kind == 1) {
      put(at, static_cast<std::uint8_t>(unit));
    } else if (kind == 2) {
      put(at, static_cast<std::uint16_t>(unit));
    } else {
      put(at, static_cast<std::uint32_t>(unit));
    }
  }

  const cpython::Layout& layout_;
  FakeTarget target_;
  std::uint64_t next_ = kStart;
  Addr str_type_{};
  Addr bytes_type_{};
};

}  // namespace oddrank::test
