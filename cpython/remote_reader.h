// Small typed reads of a target's memory, through a cache of pages.
//
// A Python stack is hundreds of objects of some ten bytes each, most of them neighbours. So memory
// is fetched by whole pages, each once; the addresses that a reader will want next are announced
// with prefetch() and come in one system call. The cache lives as long as one look at the process:
// what it holds is as old as its first read. A reader that looks again begins with the pages that
// its last look needed, all of them in one call: of a process that hangs these are all there are.
//
// Addresses come from the target and are not believed: what cannot be read is nullopt.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "attach/target.h"

namespace oddrank::cpython {

using attach::Addr;

class RemoteReader {
 public:
  struct Range {
    Addr address{};
    std::size_t size = 0;
  };

  // `target` must outlive the reader.
  explicit RemoteReader(const attach::Target& target) : target_(target) {}

  // Forgets what was read, and fetches anew the pages out of which something was taken since the
  // last call.
  void look_again();

  // Fetches the pages of the ranges that are not there yet, all in one Target::read_many. A range
  // counts with its first 64 KiB only.
  void prefetch(std::span<const Range> ranges);

  // All of `into`, or false if one byte of it cannot be read. (A query, not a Result: the caller
  // has nothing to say about a bad pointer but that it is bad.)
  bool read(Addr address, std::span<std::byte> into);

  template <typename T>
  std::optional<T> value(Addr address) {
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
  std::optional<Addr> pointer(Addr address) {
    const auto raw = value<std::uint64_t>(address);
    return raw ? std::optional<Addr>(Addr{*raw}) : std::nullopt;
  }
  // A null pointer where there is none to be read.
  Addr pointer_or_null(Addr address) { return pointer(address).value_or(Addr{}); }

  // `size` bytes, which the caller has bounded.
  std::optional<std::vector<std::byte>> bytes(Addr address, std::size_t size);

  // Calls of read and read_many so far: for measurements.
  std::uint64_t calls() const { return calls_; }

 private:
  static constexpr std::uint64_t kPageSize = 4096;
  static constexpr std::size_t kPageLimit = 8192;  // 32 MiB; then the cache starts anew
  static constexpr std::size_t kBlockPages = 16;
  struct Page {
    std::uint64_t number = 0;  // address / kPageSize
    std::size_t got = 0;       // bytes from its start
    bool used = false;         // not only fetched
  };
  // The page that was read last.
  struct LastPage {
    std::uint64_t number = 0;
    std::size_t got = 0;
    const std::byte* bytes = nullptr;
  };

  // Index into pages_; kNoPage if it was not fetched.
  static constexpr std::uint32_t kNoPage = 0xffffffff;
  std::uint32_t find(std::uint64_t number) const;
  std::uint32_t find_or_fetch(std::uint64_t number);
  void add(std::uint64_t number);
  void forget();
  void fetch(std::span<const std::uint64_t> numbers);
  std::byte* bytes_of(std::size_t page) {
    return blocks_[page / kBlockPages].get() + page % kBlockPages * kPageSize;
  }

  const attach::Target& target_;
  std::vector<Page> pages_;
  std::vector<std::unique_ptr<std::byte[]>> blocks_;  // the bytes of pages_; kept for the next look
  // Open addressing by page number; a power of two long, at most half full.
  std::vector<std::uint32_t> index_;
  LastPage last_;
  std::uint64_t calls_ = 0;
};

}  // namespace oddrank::cpython
