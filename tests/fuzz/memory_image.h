// A piece of a process's memory as a file of a corpus: numbers and runs of bytes, little-endian, in
// a form in which a fuzzer can change any of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "tests/support/fake_target.h"

namespace oddrank::fuzz {

// Takes numbers from the front of an input; zeros once it has ended.
class Input {
 public:
  explicit Input(std::string_view bytes) : bytes_(bytes) {}

  template <typename T>
  T take() {
    static_assert(std::is_integral_v<T>);
    T value{};
    const std::string_view bytes = text(sizeof value);
    std::memcpy(&value, bytes.data(), bytes.size());
    return value;
  }
  std::string_view text(std::size_t size) {
    const std::string_view taken = bytes_.substr(0, size);
    bytes_.remove_prefix(taken.size());
    return taken;
  }
  bool ended() const { return bytes_.empty(); }

 private:
  std::string_view bytes_;
};

template <typename T>
void append(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// Pages of memory, by address.
class MemoryImage {
 public:
  static constexpr std::uint64_t kPageSize = 4096;
  static constexpr std::size_t kMaxPages = 2048;

  // Reads runs (address, 32-bit length, bytes) up to the end of the input. What a run leaves out of
  // its pages is zero.
  static MemoryImage read(Input& input);
  std::string write() const;

  void put(std::uint64_t address, std::string_view bytes);
  std::map<std::uint64_t, std::string>& pages() { return pages_; }
  void into(test::FakeTarget& target) const;

 private:
  std::map<std::uint64_t, std::string> pages_;
};

inline void MemoryImage::put(std::uint64_t address, std::string_view bytes) {
  while (!bytes.empty()) {
    const std::uint64_t page = address / kPageSize * kPageSize;
    if (!pages_.contains(page) && pages_.size() >= kMaxPages) {
      return;
    }
    std::string& held = pages_[page];
    held.resize(kPageSize);
    const std::string_view part = bytes.substr(0, page + kPageSize - address);
    held.replace(address - page, part.size(), part);
    bytes.remove_prefix(part.size());
    address += part.size();
  }
}

inline MemoryImage MemoryImage::read(Input& input) {
  MemoryImage image;
  while (!input.ended()) {
    const auto address = input.take<std::uint64_t>();
    const auto size = input.take<std::uint32_t>();
    image.put(address, input.text(size));
  }
  return image;
}

inline std::string MemoryImage::write() const {
  constexpr std::size_t kGap = 16;  // zeros that end a run
  std::string bytes;
  for (const auto& [page, held] : pages_) {
    std::size_t at = held.find_first_not_of('\0');
    while (at != std::string::npos) {
      std::size_t end = held.find(std::string(kGap, '\0'), at);
      end = end == std::string::npos ? held.size() : end;
      append(bytes, page + at);
      append(bytes, static_cast<std::uint32_t>(end - at));
      bytes.append(held, at, end - at);
      at = held.find_first_not_of('\0', end);
    }
    if (held.find_first_not_of('\0') == std::string::npos) {
      append(bytes, page);
      append(bytes, std::uint32_t{1});
      bytes += '\0';
    }
  }
  return bytes;
}

inline void MemoryImage::into(test::FakeTarget& target) const {
  std::string run;
  std::uint64_t start = 0;
  const auto add = [&] {
    if (!run.empty()) {
      target.add_memory(attach::Addr{start}, std::exchange(run, {}));
    }
  };
  for (const auto& [page, held] : pages_) {
    if (start + run.size() != page) {
      add();
      start = page;
    }
    run += held;
  }
  add();
}

}  // namespace oddrank::fuzz
