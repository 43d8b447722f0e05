// A made-up target into which the sample program is loaded, as the dynamic linker would.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tests/support/fake_target.h"
#include "tests/unit/elf/elf_samples.h"

namespace oddrank::test {

inline constexpr std::uint64_t kLoadedAt = 0x7f0000000000;
inline constexpr const char* kLoadedPath = "/job/bin/sample";

// Maps the segments of `image`, which is the sample, at `base`. The pages of its header and of its
// data are put into memory; with `all` those of code and tables, too.
inline void load_sample(FakeTarget& target,
                        const elf::ElfImage& image,
                        std::uint64_t base = kLoadedAt,
                        bool all = false) {
  constexpr std::uint64_t kPage = 4096;
  const auto bytes = bytes_of(sample_path());
  target.add_memory(attach::Addr{base}, std::span(bytes).first(kPage));
  for (const elf::ElfSegment& segment : image.segments()) {
    const std::uint64_t skip = segment.address % kPage;
    attach::Mapping mapping;
    mapping.start = base + segment.address - skip;
    mapping.end = (base + segment.address + segment.file_size + kPage - 1) / kPage * kPage;
    mapping.file_offset = segment.file_offset - skip;
    mapping.inode = 77;
    mapping.device = 8;
    mapping.readable = true;
    mapping.executable = segment.executable;
    mapping.writable = segment.writable;
    mapping.path = kLoadedPath;
    target.add_mapping(mapping);
    if (segment.writable || all) {
      std::vector<std::byte> pages(mapping.end - mapping.start);
      const auto part = std::span(bytes).subspan(segment.file_offset, segment.file_size);
      std::copy(part.begin(), part.end(), pages.begin() + static_cast<std::ptrdiff_t>(skip));
      target.add_memory(attach::Addr{mapping.start}, pages);
    }
  }
}

}  // namespace oddrank::test
