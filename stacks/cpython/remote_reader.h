// Small typed reads of a target's memory, through a cache of pages.
//
// A Python stack is hundreds of objects of some ten bytes each, most of them neighbours. So memory
// is fetched by whole pages, each once; the addresses that a reader will want next are announced
// with prefetch() and come in one system call. A cache lives as long as one look at the process:
// what it holds is as old as its first read.
//
// Addresses come from the target and are not believed: what cannot be read is nullopt.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "attach/target.h"

namespace oddrank::stacks::cpython {

using attach::Addr;

class RemoteReader {
 public:
  struct Range {
    Addr address{};
    std::size_t size = 0;
  };

  // `target` must outlive the reader.
  explicit RemoteReader(const attach::Target& target) : target_(target) {}

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
    if (!read(address, std::as_writable_bytes(std::span<T, 1>(&result, 1)))) {
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
  struct Page {
    std::array<std::byte, kPageSize> bytes;
    std::size_t got = 0;
  };

  const Page* page(std::uint64_t number);
  void fetch(std::span<const std::uint64_t> wanted);

  const attach::Target& target_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Page>> pages_;
  std::uint64_t calls_ = 0;
};

}  // namespace oddrank::stacks::cpython
