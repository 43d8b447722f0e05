// Measures the peak of memory in use: each reader of foreign bytes must stay within 16 times their
// size. Uses hooks of the sanitizer's allocator, and without a sanitizer does nothing; one thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>

#if defined(__SANITIZE_ADDRESS__)
#define ODDRANK_COUNTS_MEMORY 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ODDRANK_COUNTS_MEMORY 1
#endif
#endif

#ifdef ODDRANK_COUNTS_MEMORY
#include <sanitizer/allocator_interface.h>

namespace oddrank::fuzz {

class PeakMemory {
 public:
  // Starts to count, for `size` bytes of input.
  explicit PeakMemory(std::size_t size) : limit_(size * 16 + kFixed) {
    static const int installed = __sanitizer_install_malloc_and_free_hooks(&taken, &given);
    if (installed == 0) {
      std::abort();
    }
    now() = peak() = 0;
  }
  PeakMemory(const PeakMemory&) = delete;
  PeakMemory& operator=(const PeakMemory&) = delete;
  PeakMemory(PeakMemory&&) = delete;
  PeakMemory& operator=(PeakMemory&&) = delete;

  // Crashes the fuzzer if the peak was too high.
  ~PeakMemory() {
    if (peak() > static_cast<std::ptrdiff_t>(limit_)) {
      std::fprintf(stderr, "%td bytes were in use at once, more than %zu\n", peak(), limit_);
      std::abort();
    }
  }

 private:
  // Tables and buffers have this size even for an empty input; plain_data.h allows 64 KiB.
  static constexpr std::size_t kFixed = 256 * 1024;

  static std::ptrdiff_t& now() {
    static std::ptrdiff_t value = 0;
    return value;
  }
  static std::ptrdiff_t& peak() {
    static std::ptrdiff_t value = 0;
    return value;
  }
  static void taken(const volatile void* /*at*/, std::size_t size) {
    now() += static_cast<std::ptrdiff_t>(size);
    peak() = std::max(peak(), now());
  }
  static void given(const volatile void* at) {
    now() -=
        static_cast<std::ptrdiff_t>(__sanitizer_get_allocated_size(const_cast<const void*>(at)));
  }

  std::size_t limit_;
};

}  // namespace oddrank::fuzz

#else

namespace oddrank::fuzz {

class PeakMemory {
 public:
  explicit PeakMemory(std::size_t /*size*/) {}
};

}  // namespace oddrank::fuzz

#endif
