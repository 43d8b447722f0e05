// Small typed reads of a target's memory, through a cache of pages.
//
// A Python stack is hundreds of objects of some tens of bytes, and most of them are neighbours. So
// memory is fetched in whole pages, each once; prefetch() fetches the addresses that will be read
// next, in one system call. The cache holds one sample of the process: each page keeps the contents
// of its first read. refresh() begins the next sample by fetching the pages that the last one used,
// in one call: if the process hangs, no others are needed.
//
// Addresses come from the target and are not trusted: an unreadable value is nullopt.
//
// Reads numbers from bytes that were copied from a target or a file, and may be too short.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "attach/target.h"

namespace oddrank::cpython {

using attach::Addr;

inline constexpr std::size_t kPointerSize = sizeof(std::uint64_t);  // of a target: x86-64

class RemoteReader {
 public:
  struct Range {
    Addr address{};
    std::size_t size = 0;
  };

  // `target` must outlive the reader.
  explicit RemoteReader(const attach::Target& target) : target_(target) {}

  const attach::Target& target() const { return target_; }

  // Begins the next sample: fetches anew the pages that reads since the last call used, and forgets
  // the others.
  void refresh();

  // Fetches the missing pages of the ranges, all in one Target::read_many, at most 64 KiB of each
  // range.
  void prefetch(std::span<const Range> ranges);

  // Fills all of `into`; returns false if any byte cannot be read. (Not a Result: a bad pointer has
  // no further reason to report.)
  bool read(Addr address, std::span<std::byte> into);

  template <typename T>
  std::optional<T> value(Addr address);
  std::optional<Addr> pointer(Addr address);
  // Returns null if the pointer cannot be read.
  Addr pointer_or_null(Addr address) { return pointer(address).value_or(Addr{}); }

  // Returns `size` bytes; the caller bounds the size.
  std::optional<std::vector<std::byte>> bytes(Addr address, std::size_t size);

  // Counts the calls of Target::read and read_many so far: for measurements.
  std::uint64_t calls() const { return calls_; }

 private:
  static constexpr std::uint64_t kPageSize = 4096;
  static constexpr std::size_t kMaxPages = 8192;  // 32 MiB; then the cache starts anew
  static constexpr std::size_t kBlockPages = 16;
  struct Page {
    std::uint64_t number = 0;  // address / kPageSize
    std::size_t got = 0;       // bytes from its start
    bool used = false;         // not only fetched
  };
  // The bytes of some pages. The kernel maps them all at once: page faults while it copies would
  // cost as much as the copying. A reader reuses the blocks that earlier readers of the same thread
  // have given back.
  class Block {
   public:
    Block();
    ~Block();
    Block(Block&& other) noexcept : bytes_(std::exchange(other.bytes_, nullptr)) {}
    Block& operator=(Block&&) = delete;
    Block(const Block&) = delete;
    Block& operator=(const Block&) = delete;
    std::byte* bytes() const { return bytes_; }

   private:
    std::byte* bytes_ = nullptr;
  };
  // The page that was used last.
  struct LastPage {
    std::uint64_t number = 0;
    std::size_t got = 0;
    const std::byte* bytes = nullptr;
  };

  static constexpr std::uint32_t kNoPage = 0xffffffff;
  // Return an index into pages_; kNoPage if the page was not fetched.
  std::uint32_t find(std::uint64_t number) const;
  std::uint32_t find_or_fetch(std::uint64_t number);
  // Adds a page that is not in the cache; does not fetch its bytes.
  void add(std::uint64_t number);
  void forget();
  void fetch(std::span<const std::uint64_t> numbers);
  std::byte* bytes_of(std::size_t page);

  const attach::Target& target_;
  std::vector<Page> pages_;
  std::vector<Block> blocks_;  // the bytes of pages_; reused after refresh()
  // Open addressing by page number; a power of two long, at most half full.
  std::vector<std::uint32_t> index_;
  LastPage last_;
  std::uint64_t calls_ = 0;
};

template <typename T>
std::optional<T> RemoteReader::value(Addr address) {
  static_assert(std::is_trivially_copyable_v<T>);
  T result{};
  const std::uint64_t offset = value_of(address) % kPageSize;
  if (value_of(address) / kPageSize == last_.number && offset + sizeof result <= last_.got) {
    std::memcpy(&result, last_.bytes + offset, sizeof result);  // most reads come here
  } else if (!read(address, std::as_writable_bytes(std::span<T, 1>(&result, 1)))) {
    return std::nullopt;
  }
  return result;
}

inline std::optional<Addr> RemoteReader::pointer(Addr address) {
  const auto raw = value<std::uint64_t>(address);
  return raw ? std::optional<Addr>(Addr{*raw}) : std::nullopt;
}

// Returns the number at the offset; 0 if the bytes end before its end.
template <typename T>
T number_at(std::span<const std::byte> bytes, std::size_t offset) {
  T value{};
  if (offset <= bytes.size() && bytes.size() - offset >= sizeof value) {
    std::memcpy(&value, bytes.data() + offset, sizeof value);
  }
  return value;
}

}  // namespace oddrank::cpython
