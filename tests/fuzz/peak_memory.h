// How much memory was in use at once: what each reader of foreign bytes keeps within 16 times their
// size. By hooks of the sanitizer's allocator; one thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>

#include <sanitizer/allocator_interface.h>

namespace oddrank::fuzz {

class PeakMemory {
 public:
  // For `size` bytes of input. Counts from here on.
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

  // Ends the fuzzer with a crash if it was too much.
  ~PeakMemory() {
    if (peak() > static_cast<std::ptrdiff_t>(limit_)) {
      std::fprintf(stderr, "%td bytes were in use at once, more than %zu\n", peak(), limit_);
      std::abort();
    }
  }

 private:
  // Tables and buffers that are as large for an empty input; plain_data.h allows 64 KiB.
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
