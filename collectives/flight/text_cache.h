// Caches values derived from texts of a PlainData, by the texts' addresses: thousands of calls of a
// dump have the same few hundred names. PyTorch's own pickles store each of them once. Python's
// pickles may repeat a name in each call, so the newest text is also recognised by its contents.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "collectives/flight/plain_data.h"

namespace oddrank::collectives {

// Holds the newest of the texts that share a slot. Valid for the data of one document.
template <typename Value>
class TextCache {
 public:
  // Returns make(), or its earlier result for the same text. `value` must be a text.
  template <typename Make>
  const Value& of(const PlainValue& value, const Make& make);

 private:
  struct Slot {
    const char* text = nullptr;
    std::uint32_t size = 0;
    std::optional<Value> value;
  };

  static constexpr unsigned kBits = 8;

  static std::size_t place_of(const char* text);

  std::array<Slot, std::size_t{1} << kBits> slots_;
  std::size_t newest_ = 0;
};

template <typename Value>
template <typename Make>
const Value& TextCache<Value>::of(const PlainValue& value, const Make& make) {
  const std::size_t place = place_of(value.text);
  Slot& slot = slots_[place];
  if (slot.value && slot.text == value.text && slot.size == value.size) {
    return *slot.value;
  }
  const Slot& newest = slots_[newest_];
  if (newest.value &&
      std::string_view(newest.text, newest.size) == std::string_view(value.text, value.size)) {
    return *newest.value;
  }
  slot = {value.text, value.size, make()};
  newest_ = place;
  return *slot.value;
}

template <typename Value>
std::size_t TextCache<Value>::place_of(const char* text) {
  const auto address = reinterpret_cast<std::uintptr_t>(text);
  return static_cast<std::size_t>((address * 0x9e3779b97f4a7c15ULL) >> (64 - kBits));
}

}  // namespace oddrank::collectives
